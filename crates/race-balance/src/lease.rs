use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use race_core::{Clock, Moment};

use crate::{Monotonic, balance::Settings, endpoint::Endpoint};

/// An attempt that is in flight at an endpoint. Keep it as long as the attempt runs: dropping it
/// records a cancelled attempt.
#[must_use = "the attempt is over when its lease is dropped"]
pub struct Lease<E, C: Clock = Monotonic> {
    endpoint: Arc<Endpoint<E>>,
    clock: C,
    settings: Settings,
    began: Moment,
    is_recorded: bool,
    /// The attempt is being polled. If the lease is dropped then, the attempt has panicked.
    is_polled: bool,
}

impl<E, C: Clock> Lease<E, C> {
    pub(crate) fn new(endpoint: Arc<Endpoint<E>>, clock: C, settings: Settings) -> Self {
        let began = clock.read();
        endpoint.begin();
        Self {
            endpoint,
            clock,
            settings,
            began,
            is_recorded: false,
            is_polled: false,
        }
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &E {
        &self.endpoint.value
    }

    /// Runs the attempt: its latency is recorded when the future resolves. If the future is dropped
    /// before, the attempt counts as cancelled, and if it panics, as failed.
    ///
    /// If losers run on, spawn the future that this returns, so that they count as in flight until
    /// they end.
    pub fn run<F: Future>(self, attempt: F) -> Leased<F, E, C> {
        Leased {
            attempt,
            lease: Some(self),
            is_failure: |_| false,
        }
    }

    /// Like [`run`](Self::run), for attempts that can fail: an `Err` counts as an attempt that took
    /// [`failure_penalty`](crate::Balance::failure_penalty), or longer if it did.
    pub fn try_run<F, T, X>(self, attempt: F) -> Leased<F, E, C>
    where
        F: Future<Output = Result<T, X>>,
    {
        Leased {
            attempt,
            lease: Some(self),
            is_failure: Result::is_err,
        }
    }

    /// Records that the attempt has succeeded, for attempts that are not a future.
    pub fn succeeded(self) {
        self.record(Duration::ZERO);
    }

    /// Records that the attempt has failed.
    pub fn failed(self) {
        let penalty = self.settings.failure_penalty;
        self.record(penalty);
    }

    fn record(mut self, least: Duration) {
        self.is_recorded = true;
        self.add(least);
    }

    fn add(&self, least: Duration) {
        let now = self.clock.read();
        let took = now.since(self.began).max(least);
        let decay = self.settings.decay;
        self.endpoint
            .estimate(|estimate| estimate.add(took, now, decay));
    }

    fn add_cancelled(&self) {
        let now = self.clock.read();
        let (elapsed, decay) = (now.since(self.began), self.settings.decay);
        self.endpoint
            .estimate(|estimate| estimate.add_cancelled(elapsed, now, decay));
    }
}

impl<E, C: Clock> Drop for Lease<E, C> {
    fn drop(&mut self) {
        self.endpoint.end();
        match (self.is_recorded, self.is_polled) {
            (true, _) => {}
            (false, true) => self.add(self.settings.failure_penalty),
            (false, false) => self.add_cancelled(),
        }
    }
}

pin_project! {
    /// The future of [`Lease::run`] and [`Lease::try_run`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Leased<F: Future, E, C: Clock> {
        #[pin]
        attempt: F,
        lease: Option<Lease<E, C>>,
        is_failure: fn(&F::Output) -> bool,
    }
}

impl<F: Future, E, C: Clock> Future for Leased<F, E, C> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(mut lease) = this.lease.take() else {
            // It has resolved before: what follows is up to the attempt.
            return this.attempt.poll(cx);
        };
        lease.is_polled = true;
        let polled = this.attempt.poll(cx);
        lease.is_polled = false;
        match &polled {
            Poll::Pending => *this.lease = Some(lease),
            Poll::Ready(output) if (this.is_failure)(output) => lease.failed(),
            Poll::Ready(_) => lease.succeeded(),
        }
        polled
    }
}

impl<E, C: Clock> fmt::Debug for Lease<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("began", &self.began)
            .finish_non_exhaustive()
    }
}

impl<F: Future, E, C: Clock> fmt::Debug for Leased<F, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").finish_non_exhaustive()
    }
}
