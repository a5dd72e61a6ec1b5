//! A client of `tower::load`.

use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    pin::pin,
    sync::Arc,
};

use futures::{FutureExt as _, future::Map};
use race::{Adaptive, core::Race};
use race_sim::{Client, Reply, Request, Setup};
use tower::{Service, load::Load, service_fn, util::ServiceFn};

use super::tokio_clock::TokioClock;

/// Sends each attempt to the one of two random servers with the lower `Load`; no two of a request
/// to the same.
pub(super) struct ByLoad<S> {
    services: RefCell<Vec<S>>,
    policy: Arc<Adaptive>,
    clock: TokioClock,
}

/// A server as a service.
pub(super) type Server = ServiceFn<Box<dyn Fn(Request) -> Answer>>;

type Answer = Map<Reply, fn(()) -> Result<(), Infallible>>;

impl<S: Load + Service<Request, Response = (), Error = Infallible>> ByLoad<S> {
    /// `measured` adds the load to a server.
    pub(super) fn new(
        setup: &Setup,
        policy: Arc<Adaptive>,
        measured: impl Fn(Server) -> S,
    ) -> Self {
        let server = |server| {
            let answer: Box<dyn Fn(Request) -> Answer> =
                Box::new(move |request| request.send(server).map(Ok as fn(()) -> _));
            service_fn(answer)
        };
        let clock = TokioClock::new();
        let services = clock.enter(|| (0..setup.servers()).map(server).map(measured).collect());
        Self {
            services: RefCell::new(services),
            policy,
            clock,
        }
    }

    fn choose(&self, request: &Request, used: Option<usize>) -> usize {
        let services = self.services.borrow();
        let is_free = |server: &usize| Some(*server) != used;
        let mut free: Vec<_> = (0..services.len()).filter(is_free).collect();
        let mut draw = || free.swap_remove(request.random(free.len()));
        let (first, second) = (draw(), draw());
        match services[second].load() < services[first].load() {
            true => second,
            false => first,
        }
    }
}

impl<S: Load + Service<Request, Response = (), Error = Infallible>> Client for ByLoad<S> {
    async fn answer(&self, request: Request) {
        let used = Cell::new(None);
        let attempt = |_| {
            let server = self.choose(&request, used.get());
            used.set(Some(server));
            self.services.borrow_mut()[server].call(request.clone())
        };
        let race = Race::at(request.timer()).from_fn(self.policy.clone(), attempt);
        let answered = pin!(race.max_attempts(2).first());
        self.clock.following(request.clock(), answered).await;
    }
}
