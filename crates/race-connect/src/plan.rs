use std::{
    io,
    task::{Context, Waker},
};

use race_core::{AttemptHandle, Moment};

use crate::{
    Destination, Family, HappyEyeballs, Next,
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

    /// Returns the candidate to start at `now`. If that may change, the waker is woken after the
    /// next answer.
    fn next(&mut self, now: Moment, waker: Option<&Waker>) -> Next<Self::Candidate>;

    fn started(&mut self, candidate: &Self::Candidate, now: Moment);

    /// Reports that an attempt has connected or failed.
    fn finished(&mut self, candidate: &Self::Candidate);

    /// Looks which attempts have made progress.
    fn note_progress(&mut self, _now: Moment) {}

    /// Remembers what the end of the race teaches.
    fn won(&mut self, _candidate: &Self::Candidate, _now: Moment) {}

    fn peer(candidate: &Self::Candidate) -> Peer;

    fn family(candidate: &Self::Candidate) -> Family;

    fn destination(&self, candidate: Self::Candidate, attempt: AttemptHandle) -> Destination;

    /// Whether an attempt of this family got no answer.
    fn is_unanswered(&self, family: Family) -> bool;

    /// Takes the attempts that got no answer.
    fn take_running(&mut self) -> Vec<Peer>;

    /// Takes the errors of the resolver.
    fn take_errors(&mut self) -> Vec<io::Error>;

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
