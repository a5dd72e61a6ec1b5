use std::{
    marker::PhantomData,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use race_core::{
    AttemptHandle, Timer,
    source::{Handles, Source, SourceTypes},
};

use crate::{Next, gap::Gap, plan::Plan};

/// A plan that outlives the race, which drops its source.
pub(crate) struct Shared<P>(Arc<Mutex<P>>);

impl<P> Shared<P> {
    pub(crate) fn new(plan: P) -> Self {
        Self(Arc::new(Mutex::new(plan)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, P> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Clone for Shared<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Attempts to connect to the candidates of a plan.
pub(crate) struct Dials<P, T, D, F> {
    plan: Shared<P>,
    /// For the Resolution Delay and the gap.
    timer: T,
    gap: Gap,
    dial: D,
    handles: Handles,
    attempt: PhantomData<fn() -> F>,
}

impl<P, T, D, F> Dials<P, T, D, F> {
    pub(crate) fn new(plan: Shared<P>, timer: T, gap: Gap, dial: D) -> Self {
        Self {
            plan,
            timer,
            gap,
            dial,
            handles: Handles::new(),
            attempt: PhantomData,
        }
    }
}

impl<P: Plan, T, D, F> SourceTypes for Dials<P, T, D, F> {
    type Candidate = P::Candidate;
    type Arg = P::Candidate;
    type Attempt = F;
}

impl<P, T, D, F> Source for Dials<P, T, D, F>
where
    P: Plan,
    T: Timer + Unpin,
    D: FnMut(P::Candidate, AttemptHandle) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<P::Candidate>> {
        loop {
            let now = self.timer.now();
            let next = self.plan.lock().next(now, Some(cx.waker()));
            let moment = match next {
                Next::Start(candidate) => match self.gap.until(P::peer(&candidate).address, now) {
                    Some(moment) => moment,
                    None => return Poll::Ready(Some(candidate)),
                },
                Next::Wait => return Poll::Pending,
                Next::Over => return Poll::Ready(None),
                Next::Until(moment) => moment,
            };
            ready!(Pin::new(&mut self.timer).poll_until(moment, cx));
        }
    }

    /// A better candidate may have arrived while this one waited for its start.
    fn poll_reserve(&mut self, candidate: &mut P::Candidate, _: &mut Context<'_>) -> Poll<bool> {
        let now = self.timer.now();
        let next = self.plan.lock().next(now, None);
        Poll::Ready(match next {
            // The new address may have to wait where the old one did not.
            Next::Start(better) if self.gap.until(P::peer(&better).address, now).is_none() => {
                *candidate = better;
                true
            }
            _ => false,
        })
    }

    fn attempt(&mut self, candidate: P::Candidate) -> (P::Candidate, F) {
        let now = self.timer.now();
        self.plan.lock().started(&candidate, now);
        self.gap.started(now);
        let attempt = (self.dial)(candidate.clone(), self.handles.handle());
        (candidate, attempt)
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }
}
