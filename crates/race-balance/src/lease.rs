use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use race_core::{Moment, Verdict, observe::Clock};

use crate::{
    Monotonic,
    balance::Settings,
    classify::{Always, Classify, ErrBy, OkOnly},
    endpoint::{Endpoint, Learnt, Place},
    health::Revision,
    label::Label,
};

/// An attempt that is in flight at an endpoint. Keep it as long as the attempt runs: dropping it
/// records a cancelled attempt, which is neither a success nor a failure.
#[must_use = "the attempt is over when its lease is dropped"]
pub struct Lease<E, C: Clock = Monotonic> {
    /// It holds the trial place of the endpoint if the attempt is a trial.
    place: Place<E>,
    clock: C,
    settings: Settings,
    label: Label<E>,
    began: Moment,
    /// That of the endpoint when the attempt began.
    revision: Revision,
    is_recorded: bool,
    /// The attempt is being polled. If the lease is dropped then, the attempt has panicked.
    is_polled: bool,
}

impl<E, C: Clock> Lease<E, C> {
    pub(crate) fn new(place: Place<E>, clock: C, settings: Settings, label: Label<E>) -> Self {
        let began = clock.read();
        let revision = place.endpoint().begin();
        Self {
            place,
            clock,
            settings,
            label,
            began,
            revision,
            is_recorded: false,
            is_polled: false,
        }
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &E {
        &self.place.endpoint().value
    }

    /// Runs the attempt: its latency is recorded when the future resolves. If the future is dropped
    /// before, the attempt counts as cancelled, and if it panics, as failed.
    ///
    /// If losers run on, spawn the future that this returns, so that they count as in flight until
    /// they end.
    pub fn run<F: Future>(self, attempt: F) -> Leased<F, E, C> {
        self.run_judged(Always, attempt)
    }

    /// Like [`run`](Self::run), for attempts that can fail: an `Err` counts as a failure of the
    /// endpoint, with a latency of at least
    /// [`failure_penalty`](crate::Balance::failure_penalty).
    ///
    /// If some errors are answers of an endpoint that is well, such as "not found", use
    /// [`try_run_by`](Self::try_run_by).
    pub fn try_run<F, T, X>(self, attempt: F) -> Leased<F, E, C, OkOnly>
    where
        F: Future<Output = Result<T, X>>,
    {
        self.run_judged(OkOnly, attempt)
    }

    /// Like [`try_run`](Self::try_run), and `classify` decides what an `Err` says about the
    /// endpoint:
    ///
    /// | verdict | endpoint |
    /// | --- | --- |
    /// | [`Accept`](Verdict::Accept), [`Fatal`](Verdict::Fatal) | is well, as with an `Ok` |
    /// | [`Retryable`](Verdict::Retryable), [`NoMoreStarts`](Verdict::NoMoreStarts) | has failed |
    /// | [`NotBefore(t)`](Verdict::NotBefore) | gets no attempts for `t`, or until one that began later succeeds; it has not failed, and its time counts as that of a cancelled attempt |
    ///
    /// Give the race the same function by [`Balance::judge`](crate::Balance::judge).
    pub fn try_run_by<F, T, X, J>(self, classify: J, attempt: F) -> Leased<F, E, C, ErrBy<J>>
    where
        F: Future<Output = Result<T, X>>,
        J: Fn(&X) -> Verdict,
    {
        self.run_judged(ErrBy(classify), attempt)
    }

    pub(crate) fn run_judged<F, J>(self, classify: J, attempt: F) -> Leased<F, E, C, J>
    where
        F: Future,
        J: Classify<F::Output>,
    {
        Leased {
            attempt,
            lease: Some(self),
            classify,
        }
    }

    /// Records that the attempt has succeeded, for attempts that are not a future.
    pub fn succeeded(self) {
        self.judged(Verdict::Accept);
    }

    /// Records that the attempt has failed.
    pub fn failed(self) {
        self.judged(Verdict::Retryable);
    }

    /// Records what the outcome says about the endpoint, as in [`try_run_by`](Self::try_run_by).
    pub fn judged(mut self, verdict: Verdict) {
        self.is_recorded = true;
        self.learn(|learnt, outcome| match verdict {
            Verdict::Accept | Verdict::Fatal => outcome.succeeded(learnt),
            Verdict::NotBefore(time) => {
                learnt.health.push_back(outcome.now, time);
                // The refusal took no work, so its time is only a lower bound of the latency.
                outcome.cancelled(learnt);
            }
            _ => outcome.failed(learnt),
        });
    }

    fn learn(&self, change: impl FnOnce(&mut Learnt, &Outcome<'_>)) {
        let now = self.clock.read();
        let outcome = Outcome {
            revision: self.revision,
            is_trial: self.place.is_trial(),
            began: self.began,
            now,
            settings: &self.settings,
        };
        let endpoint: &Endpoint<E> = self.place.endpoint();
        endpoint.learn(|learnt| change(learnt, &outcome));
    }
}

/// The end of an attempt.
struct Outcome<'a> {
    revision: Revision,
    is_trial: bool,
    began: Moment,
    now: Moment,
    settings: &'a Settings,
}

impl Outcome<'_> {
    fn succeeded(&self, learnt: &mut Learnt) {
        if learnt.health.succeeded(self.revision) {
            learnt.estimate.forget_failures();
        }
        let took = self.now.since(self.began);
        learnt.estimate.add(took, self.now, self.settings.decay);
    }

    fn failed(&self, learnt: &mut Learnt) {
        let (revision, ejection) = (self.revision, &self.settings.ejection);
        learnt
            .health
            .failed(revision, self.is_trial, self.now, ejection);
        let took = self.now.since(self.began);
        let counted = took.max(self.settings.failure_penalty);
        let decay = self.settings.decay;
        learnt.estimate.add_failed(counted, self.now, decay);
    }

    fn cancelled(&self, learnt: &mut Learnt) {
        let (took, decay) = (self.now.since(self.began), self.settings.decay);
        learnt.estimate.add_cancelled(took, self.now, decay);
    }
}

impl<E, C: Clock> Drop for Lease<E, C> {
    fn drop(&mut self) {
        self.place.endpoint().end();
        match (self.is_recorded, self.is_polled) {
            (true, _) => {}
            (false, true) => self.learn(|learnt, outcome| outcome.failed(learnt)),
            (false, false) => self.learn(|learnt, outcome| outcome.cancelled(learnt)),
        }
    }
}

pin_project! {
    /// The future of [`Lease::run`], [`try_run`](Lease::try_run) and
    /// [`try_run_by`](Lease::try_run_by).
    #[must_use = "futures do nothing unless polled"]
    pub struct Leased<F: Future, E, C: Clock, J = Always> {
        #[pin]
        attempt: F,
        lease: Option<Lease<E, C>>,
        classify: J,
    }
}

impl<F: Future, E, C: Clock, J: Classify<F::Output>> Future for Leased<F, E, C, J> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(mut lease) = this.lease.take() else {
            // It has resolved before: what follows is up to the attempt.
            return this.attempt.poll(cx);
        };
        lease.is_polled = true;
        lease.label.record(&lease.place.endpoint().value);
        let polled = this.attempt.poll(cx);
        match &polled {
            Poll::Pending => {
                lease.is_polled = false;
                *this.lease = Some(lease);
            }
            Poll::Ready(output) => {
                lease.is_polled = false; // a panic of `classify` is no failure of the endpoint
                let verdict = this.classify.classify(output);
                lease.judged(verdict);
            }
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

impl<F: Future, E, C: Clock, J> fmt::Debug for Leased<F, E, C, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").finish_non_exhaustive()
    }
}
