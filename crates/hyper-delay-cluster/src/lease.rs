//! The lease of a node: what it needs to lead.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    calls::CallId,
    log::{Announced, Answer, Beat, LeaseId, Member, MissingLink, Request, Unanswered},
};
use hyper_delay_engine::clock::{Now, nanos};

/// A lease that this node holds for sure until a moment of its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    /// The lease.
    pub lease: LeaseId,
    /// From this moment on nothing may rest on it.
    pub until: Tick,
}

impl Term {
    /// Returns whether it still holds.
    #[must_use]
    pub(crate) fn holds(self, now: Now) -> bool {
        now.monotonic < self.until
    }
}

/// How long a lease lasts, and what is subtracted from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseTimes {
    /// How long it lasts without a sign of life.
    pub ttl: Duration,
    /// A node stops this much earlier: its clock can be slower than that of another node, and what
    /// passed the last check takes a moment to leave the machine.
    pub margin: Duration,
}

impl LeaseTimes {
    /// Returns the times of a lease that lasts `ttl`.
    #[must_use]
    pub(crate) const fn of(ttl: Duration) -> Self {
        Self {
            ttl,
            margin: ttl.checked_div(8).expect("eight is not zero"),
        }
    }

    /// The pause between two signs of life, and before a failed one is repeated.
    const fn interval(self) -> Duration {
        self.ttl.checked_div(4).expect("four is not zero")
    }
}

/// Begins a lease, and keeps it alive. See [`beats`](super::beats) for the rules.
///
/// The time for which a lease holds counts from the moment at which the sign of life was *sent*:
/// the log may have carried it out at once, and the answer may have been long on its way. Once this
/// time has passed, another node may have taken over what the lease was for, so an answer that
/// comes later does not revive it: the next lease has another number.
#[derive(Debug)]
pub(crate) struct Lease {
    times: LeaseTimes,
    member: Member,
    /// The first lease of this process. The next ones follow.
    first: LeaseId,
    /// The lease that is kept alive, or is announced next.
    current: LeaseId,
    is_announced: bool,
    /// The revision of the heartbeat that the announcement replaces.
    over: u64,
    term: Option<Term>,
    /// The request under way, and when it was sent.
    asked: Option<(CallId, Tick)>,
    /// When the next request is sent.
    next: Tick,
}

impl Lease {
    /// Creates one that is not taken yet. `first` must be random: no other process has it, nor one
    /// of the numbers after it.
    pub(crate) const fn new(
        times: LeaseTimes,
        member: Member,
        LeaseId(first): LeaseId,
        now: Now,
    ) -> Self {
        // So the numbers after it do not begin again at 0.
        let first = LeaseId(first >> 1);
        Self {
            times,
            member,
            first,
            current: first,
            is_announced: false,
            over: 0,
            term: None,
            asked: None,
            next: now.monotonic,
        }
    }

    /// Returns the lease, also if it does not hold any more.
    pub(crate) const fn term(&self) -> Option<Term> {
        self.term
    }

    /// Returns the request to send now, and its number. A heartbeat reports the links that the node
    /// does not have.
    pub(crate) fn request(
        &mut self,
        call: impl FnOnce() -> CallId,
        missing_links: impl FnOnce() -> Arc<[MissingLink]>,
        now: Now,
    ) -> Option<(CallId, Request)> {
        if self.asked.is_some() {
            return None;
        }
        if self.term.is_some_and(|term| !term.holds(now)) {
            self.replace();
        }
        if now.monotonic < self.next {
            return None;
        }
        let call = call();
        self.asked = Some((call, now.monotonic));
        let request = match self.is_announced {
            true => Request::KeepAlive {
                member: self.member.clone(),
                lease: self.current,
                ttl: self.times.ttl,
                missing_links: missing_links(),
            },
            false => Request::Announce {
                member: self.member.clone(),
                lease: self.current,
                ttl: self.times.ttl,
                over: self.over,
            },
        };
        Some((call, request))
    }

    /// The request under way counts as sent now.
    #[cfg(test)]
    pub(super) fn forget_when_sent(&mut self, now: Now) {
        if let Some((_, sent)) = &mut self.asked {
            *sent = now.monotonic;
        }
    }

    /// Returns the request that ends the lease. The node must have ceased to act, and sends no
    /// other request afterwards.
    pub(crate) fn leaving(&self) -> Request {
        Request::Leave {
            node: self.member.node.clone(),
            lease: self.current,
        }
    }

    /// Takes the answer to a request. Returns whether it was the one under way. `now` must be read
    /// after the answer was there.
    pub(crate) fn answered(
        &mut self,
        call: CallId,
        answer: &Result<Answer, Unanswered>,
        now: Now,
    ) -> bool {
        let Some((_, sent)) = self.asked.take_if(|(asked, _)| *asked == call) else {
            return false;
        };
        self.next = sent + nanos(self.times.interval());
        match answer {
            // The term begins with a sign of life: another copy of the announcement may have been
            // carried out long ago.
            Ok(Answer::Announced(Announced::Done)) => {
                self.is_announced = true;
                self.next = now.monotonic;
            }
            Ok(Answer::Announced(Announced::Not(there))) => self.is_in_the_way(*there, now),
            Ok(Answer::Alive(true)) if self.term.is_none_or(|term| term.holds(now)) => {
                let lasts = self.times.ttl.saturating_sub(self.times.margin);
                self.term = Some(Term {
                    lease: self.current,
                    until: sent + nanos(lasts),
                });
            }
            Ok(Answer::Alive(false)) => {
                self.next = now.monotonic;
                self.replace();
            }
            Ok(_) | Err(_) => {}
        }
        true
    }

    /// Returns whether a heartbeat is of this process, and so of no rival. A request of this process
    /// whose answer was lost can be carried out late.
    pub(crate) fn is_own(&self, beat: Beat) -> bool {
        (self.first..=self.current).contains(&beat.lease)
    }

    /// Returns when the next request is sent. `None`: one is under way.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.asked.is_none().then_some(self.next)
    }

    /// The announcement has found this heartbeat. Unless an earlier lease of this process has left
    /// it, its process may act for as long as it does not change for the time of its lease.
    fn is_in_the_way(&mut self, there: Option<Beat>, now: Now) {
        self.over = there.map_or(0, |beat| beat.revision);
        let foreign = there.filter(|beat| !(self.first..self.current).contains(&beat.lease));
        self.next = now.after(foreign.map_or(Duration::ZERO, |beat| beat.ttl));
    }

    /// Takes another lease, once the last one has ended on every clock.
    fn replace(&mut self) {
        if let Some(term) = self.term.take() {
            let ended = term.until + nanos(self.times.margin);
            self.next = self.next.max(ended);
        }
        self.current.0 += 1;
        self.is_announced = false;
        self.over = 0;
    }
}

#[cfg(test)]
mod tests;
