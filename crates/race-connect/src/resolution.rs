use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use race_core::{AttemptHandle, Moment};

use crate::{
    Answer, Candidates, Destination, Family, Next,
    attempts::Attempts,
    plan::Plan,
    v3::{Endpoint, Origin, Peer},
};

/// How many answers one poll takes. A resolver that always has one must not hang its task.
const ANSWERS_PER_POLL: usize = 32;

/// The answers of a resolver for one host, and the attempts that run.
///
/// The answers are polled whenever the task is, and not only when the race needs an address: a
/// resolver may need several polls for an answer.
pub(crate) struct Resolution<A> {
    origin: Option<Origin>,
    answers: A,
    is_over: bool,
    candidates: Candidates,
    errors: Vec<io::Error>,
    /// The number of answers that had addresses.
    address_answers: usize,
    attempts: Attempts,
    /// Woken after an answer.
    waker: Option<Waker>,
}

impl<A: Stream<Item = Answer> + Unpin> Resolution<A> {
    pub(crate) fn new(answers: A, candidates: Candidates) -> Self {
        Self {
            origin: None,
            answers,
            is_over: false,
            candidates,
            errors: Vec::new(),
            address_answers: 0,
            attempts: Attempts::default(),
            waker: None,
        }
    }

    /// Names the origin, for the dial of a connector.
    pub(crate) fn of(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    fn handle(&mut self, answer: Answer, now: Moment) {
        match answer {
            Answer::Addresses(addresses) => {
                self.address_answers += usize::from(!addresses.is_empty());
                self.candidates.add(addresses, now);
            }
            Answer::Ended(family) => self.candidates.end(family),
            Answer::Failed(family, error) => {
                if !self.candidates.has_ended(family) {
                    self.errors.push(error);
                }
                self.candidates.end(family);
            }
            Answer::FailedForBoth(error) => {
                if !self.has_ended() {
                    self.errors.push(error);
                }
                self.end_both();
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

impl<A> Resolution<A> {
    /// Whether both families have ended.
    pub(crate) fn has_ended(&self) -> bool {
        [Family::V4, Family::V6].map(|it| self.candidates.has_ended(it)) == [true; 2]
    }

    /// Returns the number of answers that had addresses.
    #[cfg_attr(
        not(feature = "reqwest"),
        expect(dead_code, reason = "a race does not ask")
    )]
    pub(crate) fn address_answers(&self) -> usize {
        self.address_answers
    }
}

impl<A: Stream<Item = Answer> + Unpin> Plan for Resolution<A> {
    type Candidate = SocketAddr;

    fn poll(&mut self, now: Moment, cx: &mut Context<'_>) {
        for _ in 0..ANSWERS_PER_POLL {
            if self.is_over {
                return;
            }
            match Pin::new(&mut self.answers).poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(answer)) => self.handle(answer, now),
                Poll::Ready(None) => {
                    self.is_over = true;
                    self.end_both();
                }
            }
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
        cx.waker().wake_by_ref();
    }

    fn next(&mut self, now: Moment, waker: Option<&Waker>) -> Next<SocketAddr> {
        if let Some(waker) = waker {
            self.waker = Some(waker.clone());
        }
        self.candidates.next(now)
    }

    fn started(&mut self, address: &SocketAddr, now: Moment) {
        self.candidates.started(*address);
        self.attempts
            .start(Peer::tcp(*address), Family::of(address), now);
    }

    fn attempts(&mut self) -> &mut Attempts {
        &mut self.attempts
    }

    fn peer(address: &SocketAddr) -> Peer {
        Peer::tcp(*address)
    }

    fn family(address: &SocketAddr) -> Family {
        Family::of(address)
    }

    fn destination(&self, address: SocketAddr, attempt: AttemptHandle) -> Destination {
        let unnamed = || Origin::http(&address.ip().to_string(), address.port());
        let origin = self.origin.clone().unwrap_or_else(unnamed);
        let has_progress = self.attempts.progress_of(Peer::tcp(address));
        let endpoint = Endpoint::of_address(address);
        Destination::new(endpoint, origin, attempt, has_progress)
    }

    /// At most one of each family.
    fn take_errors(&mut self) -> Vec<io::Error> {
        std::mem::take(&mut self.errors)
    }
}
