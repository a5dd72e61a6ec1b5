use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use race_core::{
    Budget, Decision, Failure, GenericRace, Timer, Verdict, Won,
    observe::{Clock, Observed, Observer},
    outcome::{Failures, GenericRaceError, Judge, Judged, One},
    placement::{Heap, Inline, Placement},
    policy::{Charge, IntoPolicy},
};
use tower_service::Service;

use crate::{Backends, HedgeError, Rules, requests::Requests};

/// Attempts are polled in the spans of a `Traced`.
#[cfg(feature = "tracing")]
type InSpans<S> = race_core::source::Spanned<S>;
#[cfg(not(feature = "tracing"))]
type InSpans<S> = S;

/// The race of one request, with its attempts on the heap or in place.
type HedgeRace<K, B, Req, R, T, D, O> = GenericRace<
    K,
    InSpans<Requests<B, Req, R>>,
    T,
    <D as IntoPolicy<T>>::Policy,
    (
        (<D as IntoPolicy<T>>::Hooks, Option<Charge<Arc<Budget>>>),
        Observed<O, T>,
    ),
>;

pub(crate) type Answer<B, Req> = Result<
    <<B as Backends<Req>>::Service as Service<Req>>::Response,
    <<B as Backends<Req>>::Service as Service<Req>>::Error,
>;

pub(crate) type HedgeDecision<K, B, Req, R, T, D, O> =
    Decision<HedgeRace<K, B, Req, R, T, D, O>, Judging<R, Req>, One, Failed<K, B, Req>>;

/// The answers that were not accepted, on the heap or in place, as the attempts.
type Failed<K, B, Req> = <K as Placement>::Failures<(), Answer<B, Req>>;

/// The usual pair of attempts, and their answers, need no allocation.
pub(crate) type Pair = Inline<2>;

/// Classifies answers by the rules, and keeps all of them.
pub(crate) struct Judging<R, Req> {
    rules: R,
    request: PhantomData<fn(Req)>,
}

impl<R, Req> Judging<R, Req> {
    pub(crate) fn by(rules: R) -> Self {
        let request = PhantomData;
        Self { rules, request }
    }
}

impl<Req, Res, E, R: Rules<Req, Res, E>> Judge<Result<Res, E>> for Judging<R, Req> {
    type Value = Result<Res, E>;
    type Error = Result<Res, E>;

    fn judge(&mut self, answer: Result<Res, E>) -> Judged<Self::Value, Self::Error> {
        match self.rules.judge(&answer) {
            Verdict::Accept => Judged::Accepted(answer),
            verdict => Judged::Rejected(answer, verdict),
        }
    }
}

pin_project! {
    /// The race of a request, with its attempts in place or on the heap.
    #[project = PlacedProject]
    pub(crate) enum Placed<B, Req, R, T, D, O>
    where
        B: Backends<Req>,
        D: IntoPolicy<T>,
        O: Observer,
        T: Clock,
    {
        Pair {
            #[pin]
            decision: HedgeDecision<Pair, B, Req, R, T, D, O>,
        },
        More {
            #[pin]
            decision: HedgeDecision<Heap, B, Req, R, T, D, O>,
        },
    }
}

pin_project! {
    /// The future of a hedged request.
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops all attempts.
    #[must_use = "futures do nothing unless polled"]
    pub struct HedgeFuture<B, Req, R, T, D, O>
    where
        B: Backends<Req>,
        D: IntoPolicy<T>,
        O: Observer,
        T: Clock,
    {
        #[pin]
        placed: Placed<B, Req, R, T, D, O>,
        deadline: Option<Duration>,
    }
}

impl<B, Req, R, T, D, O> HedgeFuture<B, Req, R, T, D, O>
where
    B: Backends<Req>,
    D: IntoPolicy<T>,
    O: Observer,
    T: Clock,
{
    pub(crate) fn new(placed: Placed<B, Req, R, T, D, O>, deadline: Option<Duration>) -> Self {
        Self { placed, deadline }
    }
}

impl<B, Req, R, T, D, O> Future for HedgeFuture<B, Req, R, T, D, O>
where
    B: Backends<Req>,
    R: Rules<Req, <B::Service as Service<Req>>::Response, <B::Service as Service<Req>>::Error>,
    D: IntoPolicy<T>,
    O: Observer,
    T: Timer + Clock + Unpin,
{
    type Output = Result<
        <B::Service as Service<Req>>::Response,
        HedgeError<<B::Service as Service<Req>>::Error>,
    >;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        Poll::Ready(match this.placed.project() {
            PlacedProject::Pair { decision } => answer(ready!(decision.poll(cx)), *this.deadline),
            PlacedProject::More { decision } => answer(ready!(decision.poll(cx)), *this.deadline),
        })
    }
}

/// Returns the answer to a request whose race has ended.
fn answer<Res, E, L>(
    ended: Result<Won<(), Result<Res, E>>, GenericRaceError<L>>,
    deadline: Option<Duration>,
) -> Result<Res, HedgeError<E>>
where
    L: Failures<Arg = (), Error = Result<Res, E>>,
{
    match ended {
        Ok(won) => won.output.map_err(HedgeError::Service),
        Err(error) => {
            let deadline = match error {
                GenericRaceError::Deadline { .. } => deadline,
                _ => None,
            };
            last_answer(error.into_failed(), deadline)
        }
    }
}

/// Returns the last answer of a service, although it was not accepted. If there is none, the
/// deadline passed or all attempts timed out.
fn last_answer<Res, E>(
    failed: impl Failures<Arg = (), Error = Result<Res, E>>,
    deadline: Option<Duration>,
) -> Result<Res, HedgeError<E>> {
    let mut timed_out = None;
    for failed in failed.into_iter().rev() {
        match failed.failure {
            Failure::Error(answer) => return answer.map_err(HedgeError::Service),
            Failure::TimedOut(timeout) => timed_out = Some(timeout),
            _ => {}
        }
    }
    Err(match (deadline, timed_out) {
        (Some(deadline), _) => HedgeError::Deadline(deadline),
        (None, Some(timeout)) => HedgeError::TimedOut(timeout),
        (None, None) => HedgeError::Panicked,
    })
}

impl<B, Req, R, T, D, O> fmt::Debug for HedgeFuture<B, Req, R, T, D, O>
where
    B: Backends<Req>,
    D: IntoPolicy<T>,
    O: Observer,
    T: Clock,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgeFuture")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
