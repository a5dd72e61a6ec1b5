use std::{
    marker::PhantomData,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use race_core::{
    AttemptHandle, Timer,
    source::{Handles, Source, SourceTypes},
};

use crate::{Next, gap::Gap, resolution::Resolution};

/// A resolution that outlives the race, which drops its source.
pub(crate) struct Shared<A>(Arc<Mutex<Resolution<A>>>);

impl<A> Shared<A> {
    pub(crate) fn new(resolution: Resolution<A>) -> Self {
        Self(Arc::new(Mutex::new(resolution)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Resolution<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A> Clone for Shared<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Attempts to connect to the addresses of a resolver's answers.
pub(crate) struct Dials<A, T, D, F> {
    resolution: Shared<A>,
    /// For the Resolution Delay and the gap.
    timer: T,
    gap: Gap,
    dial: D,
    handles: Handles,
    attempt: PhantomData<fn() -> F>,
}

impl<A, T, D, F> Dials<A, T, D, F> {
    pub(crate) fn new(resolution: Shared<A>, timer: T, gap: Gap, dial: D) -> Self {
        Self {
            resolution,
            timer,
            gap,
            dial,
            handles: Handles::new(),
            attempt: PhantomData,
        }
    }
}

impl<A, T, D, F> SourceTypes for Dials<A, T, D, F> {
    type Candidate = SocketAddr;
    type Arg = SocketAddr;
    type Attempt = F;
}

impl<A, T, D, F> Source for Dials<A, T, D, F>
where
    T: Timer + Unpin,
    D: FnMut(SocketAddr, AttemptHandle) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketAddr>> {
        loop {
            let now = self.timer.now();
            let next = self.resolution.lock().next(now, Some(cx));
            let moment = match next {
                Next::Start(address) => match self.gap.until(address, now) {
                    Some(moment) => moment,
                    None => return Poll::Ready(Some(address)),
                },
                Next::Wait => return Poll::Pending,
                Next::Over => return Poll::Ready(None),
                Next::Until(moment) => moment,
            };
            ready!(Pin::new(&mut self.timer).poll_until(moment, cx));
        }
    }

    /// A better address may have arrived while the candidate waited for its start.
    fn poll_reserve(&mut self, candidate: &mut SocketAddr, _: &mut Context<'_>) -> Poll<bool> {
        let now = self.timer.now();
        let next = self.resolution.lock().next(now, None);
        Poll::Ready(match next {
            // The new address may have to wait where the old one did not.
            Next::Start(address) if self.gap.until(address, now).is_none() => {
                *candidate = address;
                true
            }
            _ => false,
        })
    }

    fn attempt(&mut self, address: SocketAddr) -> (SocketAddr, F) {
        self.resolution.lock().started(address);
        self.gap.started(self.timer.now());
        (address, (self.dial)(address, self.handles.handle()))
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }
}
