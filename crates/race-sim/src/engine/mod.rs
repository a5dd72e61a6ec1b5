//! One run: servers, clients and arrivals on a virtual clock.

mod events;
mod job;
mod server;
mod world;

use std::{future::poll_fn, pin::pin, rc::Rc, task::Poll};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use race_core::{Timer as _, test::Deadlock};

pub(crate) use job::{Job, Tied};
pub(crate) use world::World;

use crate::{Client, Request, Run, Setup, Simulation};

/// Runs a simulation with one seed.
pub(crate) fn run<C: Client>(
    simulation: &Simulation,
    seed: u64,
    client: impl Fn(&Setup) -> C,
) -> Result<Run, Deadlock> {
    let world = Rc::new(World::new(simulation.clone(), seed));
    let setups = (0..simulation.clients).map(|number| Setup::new(&world, number));
    let clients: Vec<_> = setups.map(|setup| Rc::new(client(&setup))).collect();
    let clock = world.clock().clone();
    let mut timer = pin!(clock.timer());
    let mut requests = FuturesUnordered::new();
    let driven = poll_fn(|cx| {
        loop {
            while let Some(number) = world.step() {
                let request = Request::new(world.clone(), number);
                let client = clients[request.client()].clone();
                requests.push(answer(client, request));
            }
            if let Poll::Ready(Some(())) = requests.poll_next_unpin(cx) {
                continue;
            }
            // What losers still do is counted, too.
            if requests.is_empty() && world.is_over() {
                return Poll::Ready(());
            }
            if timer.as_mut().poll_until(world.next(), cx).is_pending() {
                return Poll::Pending;
            }
        }
    });
    clock.run(driven)?;
    drop(requests);
    Ok(world.into_run())
}

async fn answer<C: Client>(client: Rc<C>, request: Request) {
    client.answer(request.clone()).await;
    request.finish();
}

#[cfg(test)]
mod tests;
