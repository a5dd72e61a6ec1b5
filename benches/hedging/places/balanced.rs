use std::{sync::Arc, time::Duration};

use futures::future::Either;
use race::{
    Adaptive,
    core::Race,
    policy::{IntoPolicy, Permit},
    test::VirtualTimer,
};
use race_balance::{Balance, Lease};
use race_sim::{Client, Request, Setup};

type Servers = Balance<usize, VirtualTimer>;

/// Sends attempts where a `Balance` says.
pub(super) struct Balanced<P> {
    servers: Servers,
    policy: P,
    attempts: usize,
    run_on: bool,
    is_gated: bool,
}

/// An attempt that is over when its server has answered, whether or not the answer is needed.
struct Served(Option<Lease<usize, VirtualTimer>>);

impl Balanced<fn(usize) -> Option<Duration>> {
    pub(super) fn never(setup: &Setup) -> Self {
        Self::new(setup, |_| None, 1)
    }
}

impl Balanced<Arc<Adaptive>> {
    pub(super) fn hedged(setup: &Setup, percent: f64) -> Self {
        Self::new(setup, Arc::new(Adaptive::extra_load(percent)), 2)
    }
}

impl<P> Balanced<P> {
    fn new(setup: &Setup, policy: P, attempts: usize) -> Self {
        let servers = Balance::timed_by(setup.clock().timer(), 0..setup.servers());
        Self {
            servers: servers.seed(setup.seed()),
            policy,
            attempts,
            run_on: false,
            is_gated: false,
        }
    }

    /// Losers run on, and count as in flight until their servers have ended them.
    pub(super) fn run_on(mut self) -> Self {
        self.run_on = true;
        self
    }

    /// Hedges only where there is room.
    pub(super) fn gated(mut self) -> Self {
        self.is_gated = true;
        self
    }
}

impl<P: IntoPolicy<VirtualTimer> + Clone> Client for Balanced<P> {
    async fn answer(&self, request: Request) {
        let targets = self.servers.targets();
        let attempt = |_| {
            let lease = targets.pick();
            let reply = request.send(*lease.endpoint());
            match self.run_on {
                true => Either::Left(reply.holding(Served(Some(lease)))),
                false => Either::Right(lease.run(reply)),
            }
        };
        let mut gate = self.is_gated.then(|| targets.gate());
        let race = Race::at(request.timer())
            .from_fn(self.policy.clone(), attempt)
            .max_attempts(self.attempts)
            .gate(|race| gate.as_mut().map_or(Permit::Start, |gate| gate(race)));
        race.first().await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            lease.succeeded();
        }
    }
}
