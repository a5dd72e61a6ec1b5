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

use crate::{Answer, Candidates, NextAddress};

/// Attempts to connect to the addresses of a resolver's answers.
pub(crate) struct Dials<A, T, D, F> {
    answers: A,
    answers_ended: bool,
    candidates: Candidates,
    /// For the Resolution Delay.
    timer: T,
    dial: D,
    handles: Handles,
    failures: ResolverFailures,
    attempt: PhantomData<fn() -> F>,
}

/// The failures of a resolver, which outlive the race.
#[derive(Clone, Default)]
pub(crate) struct ResolverFailures(Arc<Mutex<Vec<io::Error>>>);

impl ResolverFailures {
    fn push(&self, error: io::Error) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push(error);
    }

    pub(crate) fn take(&self) -> Vec<io::Error> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *failures)
    }
}

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
        failures: ResolverFailures,
    ) -> Self {
        Self {
            answers,
            answers_ended: false,
            candidates,
            timer,
            dial,
            handles: Handles::new(),
            failures,
            attempt: PhantomData,
        }
    }

    /// Takes in the answers that have arrived.
    fn poll_answers(&mut self, cx: &mut Context<'_>) {
        while !self.answers_ended {
            match Pin::new(&mut self.answers).poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(answer)) => self.take_in(answer),
                Poll::Ready(None) => {
                    self.answers_ended = true;
                    self.candidates.end(crate::Family::V4);
                    self.candidates.end(crate::Family::V6);
                }
            }
        }
    }

    fn take_in(&mut self, answer: Answer) {
        match answer {
            Answer::Addresses(addresses) => self.candidates.add(addresses, self.timer.now()),
            Answer::Ended(family) => self.candidates.end(family),
            Answer::Failed(family, error) => {
                self.failures.push(error);
                self.candidates.end(family);
            }
            Answer::Withdrawn(addresses) => {
                for address in addresses {
                    self.candidates.withdraw(address);
                }
            }
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
        match self.candidates.reconsider(*candidate, self.timer.now()) {
            Some(address) => {
                *candidate = address;
                true
            }
            None => false,
        }
    }

    fn attempt(&mut self, address: SocketAddr) -> (SocketAddr, F) {
        (address, (self.dial)(address, self.handles.handle()))
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }
}
