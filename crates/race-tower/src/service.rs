use std::task::{Context, Poll};

use race_core::{Clock, IntoPolicy, Observer, Race, Timer};
use tower_service::Service;

use crate::{
    Backends, CloneRequests, GenericHedgeLayer, HedgeError, HedgeFuture, Rules, future::Judging,
    requests::Requests,
};

/// A service that races attempts, made by [`GenericHedgeLayer`].
#[derive(Clone, Debug)]
pub struct Hedge<B, T, D, R = CloneRequests, O = ()> {
    backends: B,
    layer: GenericHedgeLayer<T, D, R, O>,
}

impl<B, T, D, R, O> Hedge<B, T, D, R, O> {
    pub(crate) fn new(backends: B, layer: GenericHedgeLayer<T, D, R, O>) -> Self {
        Self { backends, layer }
    }
}

impl<B, Req, T, D, R, O> Service<Req> for Hedge<B, T, D, R, O>
where
    B: Backends<Req>,
    T: Timer + Clock + Clone + Unpin,
    D: IntoPolicy<T> + Clone,
    R: Rules<Req, <B::Service as Service<Req>>::Response, <B::Service as Service<Req>>::Error>
        + Clone,
    O: Observer + Clone,
{
    type Response = <B::Service as Service<Req>>::Response;
    type Error = HedgeError<<B::Service as Service<Req>>::Error>;
    type Future = HedgeFuture<B, Req, R, T, D, O>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.backends.poll_ready(cx).map_err(HedgeError::Service)
    }

    /// Panics if the inner service does because it is not ready.
    fn call(&mut self, request: Req) -> Self::Future {
        let ready = self.backends.take_ready();
        let GenericHedgeLayer {
            timer,
            delay,
            rules,
            observer,
            options,
        } = &self.layer;
        let requests = Requests::new(
            ready,
            self.backends.clone(),
            rules.clone(),
            request,
            options.max_attempts,
        );
        let mut race = Race::from_source(timer.clone(), delay.clone(), requests)
            .max_in_flight(options.max_in_flight)
            .on_failure(options.on_failure)
            .catch_up(options.catch_up)
            .min_gap(options.min_gap);
        if let Some(timeout) = options.attempt_timeout {
            race = race.attempt_timeout(timeout);
        }
        if let Some(deadline) = options.deadline {
            race = race.deadline(deadline);
        }
        let race = race
            .optional_budget(options.budget.clone())
            .observer(observer.clone());
        #[cfg(feature = "tracing")]
        let race = race.poll_in_spans();
        let decision = race.first_judged(Judging::by(rules.clone()));
        HedgeFuture::new(decision, options.deadline)
    }
}
