//! The lease of a node: what it needs to lead.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    call_id::CallId,
    log::{
        AnnounceOutcome, Heartbeat, LeaseId, LogAnswer, LogRequest, LogUnanswered, Member,
        MissingLink,
    },
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

/// The time to live of a lease, and its safety margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseTimes {
    /// The time that it lasts without a heartbeat.
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

    /// The pause between two heartbeats, and before a failed one is repeated.
    const fn interval(self) -> Duration {
        self.ttl.checked_div(4).expect("four is not zero")
    }
}

/// Begins a lease, and keeps it alive. See [`heartbeat`](super::heartbeat) for the rules.
///
/// The time for which a lease holds counts from the moment at which the heartbeat was *sent*:
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
    replaces: u64,
    term: Option<Term>,
    /// The request in flight, and when it was sent.
    pending: Option<(CallId, Tick)>,
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
            replaces: 0,
            term: None,
            pending: None,
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
    ) -> Option<(CallId, LogRequest)> {
        if self.pending.is_some() {
            return None;
        }
        if self.term.is_some_and(|term| !term.holds(now)) {
            self.begin_next();
        }
        if now.monotonic < self.next {
            return None;
        }
        let call = call();
        self.pending = Some((call, now.monotonic));
        let request = match self.is_announced {
            true => LogRequest::KeepAlive {
                member: self.member.clone(),
                lease: self.current,
                ttl: self.times.ttl,
                missing_links: missing_links(),
            },
            false => LogRequest::Announce {
                member: self.member.clone(),
                lease: self.current,
                ttl: self.times.ttl,
                replaces: self.replaces,
            },
        };
        Some((call, request))
    }

    /// The request in flight counts as sent now.
    #[cfg(test)]
    pub(super) fn count_from_now(&mut self, now: Now) {
        if let Some((_, sent)) = &mut self.pending {
            *sent = now.monotonic;
        }
    }

    /// Returns the request that ends the lease. The node must have ceased to act, and sends no
    /// other request afterwards.
    pub(crate) fn leave_request(&self) -> LogRequest {
        LogRequest::Leave {
            node: self.member.node.clone(),
            lease: self.current,
        }
    }

    /// Takes the answer to a request. Returns whether it was the one in flight. `now` must be read
    /// after the answer was there.
    pub(crate) fn answered(
        &mut self,
        call: CallId,
        answer: &Result<LogAnswer, LogUnanswered>,
        now: Now,
    ) -> bool {
        let Some((_, sent)) = self.pending.take_if(|(asked, _)| *asked == call) else {
            return false;
        };
        self.next = sent + nanos(self.times.interval());
        match answer {
            // The term begins with a heartbeat: another copy of the announcement may have been
            // carried out long ago.
            Ok(LogAnswer::Announced(AnnounceOutcome::Done)) => {
                self.is_announced = true;
                self.next = now.monotonic;
            }
            Ok(LogAnswer::Announced(AnnounceOutcome::Not(found))) => {
                self.wait_for_heartbeat(*found, now);
            }
            Ok(LogAnswer::Alive(true)) if self.term.is_none_or(|term| term.holds(now)) => {
                let lasts = self.times.ttl.saturating_sub(self.times.margin);
                self.term = Some(Term {
                    lease: self.current,
                    until: sent + nanos(lasts),
                });
            }
            Ok(LogAnswer::Alive(false)) => {
                self.next = now.monotonic;
                self.begin_next();
            }
            Ok(_) | Err(_) => {}
        }
        true
    }

    /// Returns whether a heartbeat is of this process, and so of no rival. A request of this process
    /// whose answer was lost can be carried out late.
    pub(crate) fn is_own(&self, heartbeat: Heartbeat) -> bool {
        (self.first..=self.current).contains(&heartbeat.lease)
    }

    /// Returns when the next request is sent. `None`: one is in flight.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.pending.is_none().then_some(self.next)
    }

    /// The announcement has found this heartbeat. Unless an earlier lease of this process has left
    /// it, its process may act for as long as it does not change for the time of its lease.
    fn wait_for_heartbeat(&mut self, found: Option<Heartbeat>, now: Now) {
        self.replaces = found.map_or(0, |heartbeat| heartbeat.revision);
        let foreign =
            found.filter(|heartbeat| !(self.first..self.current).contains(&heartbeat.lease));
        self.next = now.after(foreign.map_or(Duration::ZERO, |heartbeat| heartbeat.ttl));
    }

    /// Takes another lease, once the last one has ended on every clock.
    fn begin_next(&mut self) {
        if let Some(term) = self.term.take() {
            let ended = term.until + nanos(self.times.margin);
            self.next = self.next.max(ended);
        }
        self.current.0 += 1;
        self.is_announced = false;
        self.replaces = 0;
    }
}

#[cfg(test)]
mod tests;
