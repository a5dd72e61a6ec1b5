//! The lease of a node: what it needs to lead.

use std::time::Duration;

use race_wheel::Tick;

use super::{
    calls::CallId,
    log::{Answer, LeaseId, Member, Request, Unanswered},
};
use crate::clock::{Now, nanos};

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
    /// A node stops this much earlier: its clock can be slower than that of the log, and what
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

/// Whether the other nodes know the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announcing {
    /// It is announced next.
    Due,
    /// It is announced after the next sign of life.
    Waits,
    /// They know it.
    Done,
}

/// Takes a lease, announces it, and keeps it alive.
///
/// The time for which a lease holds counts from the moment at which the request was *sent*: the log
/// may have carried it out at once, and the answer may have been long on its way.
#[derive(Debug)]
pub(crate) struct Lease {
    times: LeaseTimes,
    member: Member,
    term: Option<Term>,
    announcing: Announcing,
    /// The request under way, and when it was sent.
    asked: Option<(CallId, Tick)>,
    /// When the next request is sent.
    next: Tick,
}

impl Lease {
    /// Creates one that is not taken yet.
    pub(crate) const fn new(times: LeaseTimes, member: Member, now: Now) -> Self {
        Self {
            times,
            member,
            term: None,
            announcing: Announcing::Due,
            asked: None,
            next: now.monotonic,
        }
    }

    /// Returns the lease, also if it does not hold any more.
    pub(crate) const fn term(&self) -> Option<Term> {
        self.term
    }

    /// Returns the request that is to be sent now, and its number.
    pub(crate) fn request(
        &mut self,
        call: impl FnOnce() -> CallId,
        now: Now,
    ) -> Option<(CallId, Request)> {
        if self.asked.is_some() || now.monotonic < self.next {
            return None;
        }
        let call = call();
        self.asked = Some((call, now.monotonic));
        let request = match self.term {
            Some(term) if self.announcing == Announcing::Due => Request::Announce {
                member: self.member.clone(),
                lease: term.lease,
            },
            Some(term) => Request::KeepAlive(term.lease),
            None => Request::Grant(self.times.ttl),
        };
        Some((call, request))
    }

    /// Takes the answer to a request. Returns whether it was the one under way.
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
            Ok(Answer::Granted(lease, ttl)) => {
                self.announcing = Announcing::Due;
                self.next = now.monotonic;
                self.holds(*lease, sent, *ttl);
            }
            Ok(Answer::Announced(true)) => self.announcing = Announcing::Done,
            Ok(Answer::Alive(Some(ttl))) => {
                if self.announcing == Announcing::Waits {
                    self.announcing = Announcing::Due;
                }
                if let Some(term) = self.term {
                    self.holds(term.lease, sent, *ttl);
                }
            }
            Ok(Answer::Alive(None)) => {
                self.term = None;
                self.next = now.monotonic;
            }
            // It is kept alive before it is announced again.
            Ok(_) | Err(_) if self.announcing == Announcing::Due => {
                self.announcing = Announcing::Waits;
            }
            Ok(_) | Err(_) => {}
        }
        true
    }

    /// Returns when the next request is sent. `None`: one is under way.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.asked.is_none().then_some(self.next)
    }

    fn holds(&mut self, lease: LeaseId, sent: Tick, ttl: Duration) {
        let until = sent + nanos(ttl.saturating_sub(self.times.margin));
        self.term = Some(Term { lease, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(8);

    fn at(seconds: u64) -> Now {
        Now {
            wall_nanos: 0,
            monotonic: Tick::new(nanos(Duration::from_secs(seconds))),
        }
    }

    fn ask(lease: &mut Lease, call: u64, now: Now) -> Option<Request> {
        let request = lease.request(|| CallId(call), now)?;
        assert_eq!(request.0, CallId(call));
        Some(request.1)
    }

    fn granted() -> Lease {
        let member = Member {
            node: "a".into(),
            address: "a:1".into(),
        };
        let mut lease = Lease::new(LeaseTimes::of(TTL), member.clone(), at(10));
        assert_eq!(ask(&mut lease, 1, at(10)), Some(Request::Grant(TTL)));
        assert_eq!(ask(&mut lease, 2, at(11)), None, "one at a time");
        assert!(lease.answered(CallId(1), &Ok(Answer::Granted(LeaseId(5), TTL)), at(12)));
        let announces = Request::Announce {
            member,
            lease: LeaseId(5),
        };
        assert_eq!(ask(&mut lease, 9, at(12)), Some(announces));
        assert!(lease.answered(CallId(9), &Ok(Answer::Announced(true)), at(12)));
        lease
    }

    #[test]
    fn it_holds_from_when_the_request_was_sent_less_the_margin() {
        let lease = granted();
        let term = lease.term().unwrap();
        assert_eq!(term.lease, LeaseId(5));
        assert!(term.holds(at(16)));
        assert!(!term.holds(at(17)), "sent at 10, ends at 18, stops at 17");
    }

    #[test]
    fn it_is_kept_alive_at_a_quarter_of_its_time() {
        let mut lease = granted();
        assert_eq!(ask(&mut lease, 2, at(13)), None);
        assert_eq!(
            ask(&mut lease, 2, at(14)),
            Some(Request::KeepAlive(LeaseId(5)))
        );
        assert!(lease.answered(CallId(2), &Ok(Answer::Alive(Some(TTL))), at(15)));
        assert!(lease.term().unwrap().holds(at(20)));
        assert!(!lease.term().unwrap().holds(at(21)));
    }

    #[test]
    fn it_is_kept_alive_while_an_earlier_one_of_the_node_has_not_ended() {
        let mut lease = granted();
        lease.announcing = Announcing::Due;
        for (call, seconds) in [(2, 14), (4, 18)] {
            let announces = ask(&mut lease, call, at(seconds));
            assert!(matches!(announces, Some(Request::Announce { .. })));
            assert!(lease.answered(CallId(call), &Ok(Answer::Announced(false)), at(seconds)));
            let alive = ask(&mut lease, call + 1, at(seconds + 2));
            assert_eq!(alive, Some(Request::KeepAlive(LeaseId(5))));
            let answer = Ok(Answer::Alive(Some(TTL)));
            assert!(lease.answered(CallId(call + 1), &answer, at(seconds + 2)));
            assert!(lease.term().unwrap().holds(at(seconds + 8)));
        }
    }

    #[test]
    fn without_an_answer_it_stops_holding_and_the_request_is_repeated() {
        let mut lease = granted();
        ask(&mut lease, 2, at(14)).unwrap();
        let lost = Err(Unanswered("no answer".into()));
        assert!(lease.answered(CallId(2), &lost, at(13)));
        assert!(!lease.term().unwrap().holds(at(17)));
        let request = ask(&mut lease, 3, at(17));
        assert_eq!(
            request,
            Some(Request::KeepAlive(LeaseId(5))),
            "it may be alive"
        );
    }

    #[test]
    fn one_that_has_ended_is_replaced_at_once() {
        let mut lease = granted();
        ask(&mut lease, 2, at(14)).unwrap();
        assert!(lease.answered(CallId(2), &Ok(Answer::Alive(None)), at(15)));
        assert_eq!(lease.term(), None);
        assert_eq!(ask(&mut lease, 3, at(15)), Some(Request::Grant(TTL)));
    }

    #[test]
    fn a_late_answer_changes_nothing() {
        let mut lease = granted();
        let before = lease.term();
        assert!(!lease.answered(CallId(1), &Ok(Answer::Alive(None)), at(12)));
        assert_eq!(lease.term(), before);
    }
}
