use std::task::{Context, Poll};

use race_core::{
    GenericRace, Timer,
    observe::{Clock, Observer},
    placement::Placement,
    policy::IntoPolicy,
};
use tower_service::Service;

use crate::{
    Backends, CloneRequests, GenericHedgeLayer, HedgeError, HedgeFuture, Rules,
    future::{HedgeDecision, Judging, Placed},
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
        let requests = Requests::new(
            ready,
            self.backends.clone(),
            self.layer.rules.clone(),
            request,
            self.layer.options.max_attempts,
        );
        let placed = match self.layer.options.max_attempts {
            ..=2 => Placed::Pair {
                decision: self.race(requests),
            },
            _ => Placed::More {
                decision: self.race(requests),
            },
        };
        HedgeFuture::new(placed, self.layer.options.race.deadline)
    }
}

impl<B, T, D, R, O> Hedge<B, T, D, R, O> {
    fn race<K, Req>(&self, requests: Requests<B, Req, R>) -> HedgeDecision<K, B, Req, R, T, D, O>
    where
        K: Placement,
        B: Backends<Req>,
        T: Timer + Clock + Clone + Unpin,
        D: IntoPolicy<T> + Clone,
        R: Rules<Req, <B::Service as Service<Req>>::Response, <B::Service as Service<Req>>::Error>
            + Clone,
        O: Observer + Clone,
    {
        let GenericHedgeLayer {
            timer,
            delay,
            rules,
            observer,
            options,
        } = &self.layer;
        let race = GenericRace::at(timer.clone())
            .from_source(delay.clone(), requests)
            .options(&options.race)
            .budget(options.budget.clone())
            .observer(observer.clone());
        #[cfg(feature = "tracing")]
        let race = race.poll_in_spans();
        race.first_judged(Judging::by(rules.clone()))
    }
}
