use std::{
    io,
    task::{Context, Waker},
};

use race_core::{AttemptHandle, Moment};

use crate::{
    Destination, Family, HappyEyeballs, Next,
    attempts::Attempts,
    v3::{Origin, Peer, Refused},
};

/// What a race of connections asks: which candidate comes next, and when.
///
/// Its answers depend on those of a resolver, which it polls whenever the race is polled.
#[doc(hidden)]
pub trait Plan {
    type Candidate: Clone + Send;

    /// Handles the answers that have arrived.
    fn poll(&mut self, now: Moment, cx: &mut Context<'_>);

    /// Returns the candidate to start at `now`. If that may change, the waker, if there is one, is
    /// woken after the next answer.
    fn next(&mut self, now: Moment, waker: Option<&Waker>) -> Next<Self::Candidate>;

    fn started(&mut self, candidate: &Self::Candidate, now: Moment);

    /// The attempts so far. [`started`](Self::started) adds them.
    fn attempts(&mut self) -> &mut Attempts;

    /// Remembers what the end of the race teaches.
    fn won(&mut self, _candidate: &Self::Candidate, _now: Moment) {}

    fn peer(candidate: &Self::Candidate) -> Peer;

    fn family(candidate: &Self::Candidate) -> Family;

    fn destination(&self, candidate: Self::Candidate, attempt: AttemptHandle) -> Destination;

    /// Takes the errors of the resolver.
    fn take_errors(&mut self) -> Vec<io::Error>;

    /// Why the race ends at once, if it does.
    fn refused(&self) -> Option<Refused> {
        None
    }
}

/// How a connector finds the addresses of an origin: a [`Resolve`](crate::Resolve) gives addresses,
/// a [`v3::Discovery`](crate::v3::Discovery) endpoints.
#[doc(hidden)]
pub trait Discover {
    fn plan<'a>(
        &'a self,
        settings: &HappyEyeballs,
        origin: &'a Origin,
        now: Moment,
    ) -> impl Plan + Send + 'a;
}
