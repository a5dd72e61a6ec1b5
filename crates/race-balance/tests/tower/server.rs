use std::{
    cell::{RefCell, RefMut},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use race_balance::{Balance, Balanced, Slot};
use race_core::test::{VirtualClock, VirtualTimer};
use race_tower::{GenericHedgeLayer, Hedge};
use tower::{Service, ServiceExt as _};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// A server that answers its number after some time, or fails.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) clock: VirtualClock,
    pub(crate) number: usize,
    pub(crate) state: Rc<RefCell<State>>,
}

pub(crate) struct State {
    pub(crate) ready: Poll<Result<(), &'static str>>,
    pub(crate) answer: Result<(), &'static str>,
    pub(crate) latency: Duration,
    /// When it was called.
    pub(crate) calls: Vec<Duration>,
}

impl Service<&'static str> for Server {
    type Response = usize;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<usize, &'static str>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.state.borrow().ready
    }

    fn call(&mut self, _: &'static str) -> Self::Future {
        let mut state = self.state.borrow_mut();
        state.calls.push(self.clock.elapsed());
        let sleep = self.clock.sleep(state.latency);
        let answer = state.answer.map(|()| self.number);
        Box::pin(async move {
            sleep.await;
            answer
        })
    }
}

/// Servers, and a hedged service over them.
pub(crate) struct World<const N: usize> {
    pub(crate) clock: VirtualClock,
    pub(crate) servers: [Server; N],
    pub(crate) balance: Balance<Slot<usize, Server>, VirtualClock>,
}

impl<const N: usize> World<N> {
    pub(crate) fn new(latency: Duration) -> Self {
        let clock = VirtualClock::new();
        let servers: [Server; N] = std::array::from_fn(|number| Server {
            clock: clock.clone(),
            number,
            state: Rc::new(RefCell::new(State {
                ready: Poll::Ready(Ok(())),
                answer: Ok(()),
                latency,
                calls: Vec::new(),
            })),
        });
        let slots = servers
            .clone()
            .map(|server| Slot::new(server.number, server));
        let balance = Balance::timed_by(clock.clone(), slots).seed(3);
        Self {
            clock,
            servers,
            balance,
        }
    }

    pub(crate) fn service(
        &self,
        attempts: usize,
    ) -> Hedge<Balanced<usize, Server, VirtualClock>, VirtualTimer, Duration> {
        GenericHedgeLayer::with_timer(self.clock.timer(), 50 * MS)
            .max_attempts(attempts)
            .over(Balanced::new(self.balance.clone()))
    }

    pub(crate) fn state(&self, server: usize) -> RefMut<'_, State> {
        self.servers[server].state.borrow_mut()
    }

    pub(crate) fn calls(&self) -> [usize; N] {
        self.servers
            .each_ref()
            .map(|server| server.state.borrow().calls.len())
    }

    pub(crate) fn in_flight(&self) -> usize {
        let mut sum = 0;
        self.balance.inspect(|_, load| sum += load.in_flight);
        sum
    }
}

pub(crate) fn ask<S: Service<&'static str>>(
    clock: &VirtualClock,
    service: &mut S,
) -> Result<S::Response, S::Error> {
    let answer = async { service.ready().await?.call("a").await };
    clock.run(answer).expect("it is answered")
}
