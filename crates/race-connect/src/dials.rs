use std::{
    io,
    marker::PhantomData,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use race_core::{
    AttemptHandle, Timer,
    source::{Handles, Source, SourceTypes},
};

use crate::{Answer, Candidates, Family, NextAddress};

/// Attempts to connect to the addresses of a resolver's answers.
pub(crate) struct Dials<A, T, D, F> {
    answers: A,
    answers_ended: bool,
    candidates: Candidates,
    /// For the Resolution Delay.
    timer: T,
    dial: D,
    handles: Handles,
    resolution: Resolution,
    attempt: PhantomData<fn() -> F>,
}

/// What a resolver has said about a host. It outlives the race.
#[derive(Clone, Default)]
pub(crate) struct Resolution(Arc<Mutex<Resolved>>);

#[derive(Default)]
pub(crate) struct Resolved {
    /// Whether there were addresses of these families.
    pub(crate) has_v4: bool,
    pub(crate) has_v6: bool,
    pub(crate) errors: Vec<io::Error>,
}

impl Resolution {
    fn note(&self, note: impl FnOnce(&mut Resolved)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn take(&self) -> Resolved {
        let mut resolved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *resolved)
    }
}

/// How many answers one poll takes. A resolver that always has one must not hang the race.
const ANSWERS_PER_POLL: usize = 32;

impl<A, T, D, F> Dials<A, T, D, F>
where
    A: Stream<Item = Answer> + Unpin,
    T: Timer + Unpin,
{
    pub(crate) fn new(
        answers: A,
        candidates: Candidates,
        timer: T,
        dial: D,
        resolution: Resolution,
    ) -> Self {
        Self {
            answers,
            answers_ended: false,
            candidates,
            timer,
            dial,
            handles: Handles::new(),
            resolution,
            attempt: PhantomData,
        }
    }

    /// Handles the answers that have arrived.
    fn poll_answers(&mut self, cx: &mut Context<'_>) {
        for _ in 0..ANSWERS_PER_POLL {
            if self.answers_ended {
                return;
            }
            match Pin::new(&mut self.answers).poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(answer)) => self.handle(answer),
                Poll::Ready(None) => {
                    self.answers_ended = true;
                    self.end_both();
                }
            }
        }
        cx.waker().wake_by_ref();
    }

    fn handle(&mut self, answer: Answer) {
        match answer {
            Answer::Addresses(addresses) => {
                let has = |family| addresses.iter().any(|it| Family::of(it) == family);
                let (has_v4, has_v6) = (has(Family::V4), has(Family::V6));
                self.resolution.note(|resolved| {
                    resolved.has_v4 |= has_v4;
                    resolved.has_v6 |= has_v6;
                });
                self.candidates.add(addresses, self.timer.now());
            }
            Answer::Ended(family) => self.candidates.end(family),
            Answer::Failed(family, error) => {
                self.candidates.end(family);
                self.resolution.note(|resolved| resolved.errors.push(error));
            }
            Answer::FailedForBoth(error) => {
                self.end_both();
                self.resolution.note(|resolved| resolved.errors.push(error));
            }
            Answer::Withdrawn(addresses) => {
                for address in addresses {
                    self.candidates.withdraw(address);
                }
            }
        }
    }

    fn end_both(&mut self) {
        self.candidates.end(Family::V4);
        self.candidates.end(Family::V6);
    }
}

impl<A, T, D, F> SourceTypes for Dials<A, T, D, F> {
    type Candidate = SocketAddr;
    type Arg = SocketAddr;
    type Attempt = F;
}

impl<A, T, D, F> Source for Dials<A, T, D, F>
where
    A: Stream<Item = Answer> + Unpin,
    T: Timer + Unpin,
    D: FnMut(SocketAddr, AttemptHandle) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketAddr>> {
        self.poll_answers(cx);
        loop {
            let now = self.timer.now();
            match self.candidates.next(now) {
                NextAddress::Start(address) => return Poll::Ready(Some(address)),
                NextAddress::Wait => return Poll::Pending,
                NextAddress::Over => return Poll::Ready(None),
                NextAddress::Until(moment) => {
                    if Pin::new(&mut self.timer)
                        .poll_until(moment, cx)
                        .is_pending()
                    {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// Answers may have arrived since the candidate was drawn. They need no waker here: the race
    /// polls the answers again when it draws the next candidate.
    fn reconsider(&mut self, candidate: &mut SocketAddr) -> bool {
        self.poll_answers(&mut Context::from_waker(Waker::noop()));
        match self.candidates.next(self.timer.now()) {
            NextAddress::Start(address) => {
                *candidate = address;
                true
            }
            NextAddress::Until(_) | NextAddress::Wait | NextAddress::Over => false,
        }
    }

    fn attempt(&mut self, address: SocketAddr) -> (SocketAddr, F) {
        self.candidates.started(address);
        (address, (self.dial)(address, self.handles.handle()))
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }
}
