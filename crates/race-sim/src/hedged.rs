use std::{cell::RefCell, time::Duration};

use race_core::{Race, policy::IntoPolicy, test::VirtualTimer};

use crate::{Client, Request, Route};

/// A client that races attempts, with a policy that says when they start and a route that says
/// where they go.
#[derive(Clone, Debug)]
pub struct Hedged<P, R> {
    policy: P,
    route: R,
    attempts: usize,
    is_tied: bool,
}

impl<P, R: Route> Hedged<P, R>
where
    P: IntoPolicy<VirtualTimer> + Clone,
{
    /// Creates a client with up to two attempts for each request.
    #[must_use]
    pub fn new(policy: P, route: R) -> Self {
        Self {
            policy,
            route,
            attempts: 2,
            is_tied: false,
        }
    }

    /// Sets the most attempts for each request.
    ///
    /// # Panics
    ///
    /// Panics if it is zero.
    #[must_use]
    pub fn max_attempts(mut self, attempts: usize) -> Self {
        assert!(
            attempts > 0,
            "a request has at most 0 attempts: it needs one"
        );
        self.attempts = attempts;
        self
    }

    /// Ties the attempts of a request, as [`Request::send_tied`] does.
    #[must_use]
    pub fn tied(mut self) -> Self {
        self.is_tied = true;
        self
    }
}

impl<R: Route> Hedged<fn(usize) -> Option<Duration>, R> {
    /// Creates a client that never hedges.
    #[must_use]
    pub fn never(route: R) -> Self {
        Self::new(|_| None, route).max_attempts(1)
    }
}

impl<P, R: Route> Client for Hedged<P, R>
where
    P: IntoPolicy<VirtualTimer> + Clone,
{
    async fn answer(&self, request: Request) {
        let used = RefCell::new(Vec::new());
        let attempt = |_| {
            let mut used = used.borrow_mut();
            let (server, lease) = self.route.choose(&request, &used);
            used.push(server);
            let reply = match self.is_tied {
                true => request.send_tied(server),
                false => request.send(server),
            };
            reply.holding(lease)
        };
        let race = Race::at(request.timer()).from_fn(self.policy.clone(), attempt);
        race.max_attempts(self.attempts).first().await;
    }
}
