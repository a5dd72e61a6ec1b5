//! The rules of a body that is hedged, as a reader of their documentation would write them down.

use std::task::Poll;

use bytes::Bytes;
use object_store::Result;

use crate::{
    Tally,
    case::Case,
    store::{Ended, Request, Scripted},
};

pub(crate) struct Rules<'a> {
    case: &'a Case,
    /// The request whose body had the latest byte.
    owner: usize,
    /// What the budget still pays for.
    budget: u16,
    /// How long the reader has waited for the next byte, or since the latest continuation began.
    waited: u64,
    /// When the present wait began.
    since: Option<u64>,
    /// The requests at the beginning of a poll.
    before: Vec<Request>,
    won: u64,
    unpaid: u32,
    concurrent: bool,
    taken_over: u32,
    other_version: u32,
    /// The body ended with an error.
    failed: bool,
    /// The reader does not have all bytes.
    remains: bool,
    requests: usize,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        Self {
            case,
            owner: 0,
            budget: case.options.budget.unwrap_or(u16::MAX),
            waited: 0,
            since: None,
            before: vec![],
            won: 0,
            unpaid: 0,
            concurrent: false,
            taken_over: 0,
            other_version: 0,
            failed: false,
            remains: true,
            requests: 1,
        }
    }

    /// The continuations, and those that had the next byte.
    pub(crate) fn continuations(&self) -> (u64, u64) {
        (self.requests as u64 - 1, self.won)
    }

    pub(crate) fn count(&self, tally: &mut Tally) {
        tally.hedged += u32::from(self.requests > 1);
        tally.continuations += self.requests as u32 - 1;
        tally.won += self.won as u32;
        tally.other_version += self.other_version;
        tally.unpaid += u32::from(self.unpaid > 0);
        tally.concurrent += u32::from(self.concurrent);
        tally.taken_over += self.taken_over;
        tally.failed += u32::from(self.failed);
    }

    pub(crate) fn begin_poll(&mut self, store: &Scripted, woken: Option<u64>) {
        if let (Some(since), Some(woken)) = (self.since, woken) {
            self.waited += woken - since;
            self.since = None;
        }
        // A reader that was not woken has waited until now.
        if let Some(since) = self.since {
            self.waited += store.now() - since;
            self.since = Some(store.now());
        }
        self.before = store.requests().clone();
    }

    /// Whether a stall may start a continuation now, apart from the budget.
    fn may_start(&self, requests: &[Request], old: usize) -> bool {
        let (options, old) = (&self.case.options, &requests[..old]);
        let in_flight = old.iter().filter(|it| it.is_alive).count();
        let is_final = |it: &Request| it.end == Some(Ended::Refused { is_final: true });
        self.case.can_hedge()
            && self.remains
            && old.len() < options.max_attempts
            && options.max_in_flight.is_none_or(|max| in_flight < max)
            && requests[self.owner].end.is_none()
            && !old.iter().any(is_final)
    }

    pub(crate) fn end_poll(
        &mut self,
        store: &Scripted,
        polled: &Poll<Option<Result<Bytes>>>,
        position: u64,
    ) {
        let (now, requests) = (store.now(), store.requests().clone());
        let started = requests.len() - self.before.len();
        let has_stalled = self.waited >= self.case.stall();
        self.remains = position < self.case.range().end;
        let may_start = has_stalled && self.may_start(&requests, self.before.len());
        let must_start = may_start && self.budget > 0;
        match polled {
            // A byte that is there comes before the stall.
            Poll::Ready(Some(Ok(_))) => assert!(started <= usize::from(must_start), "no stall"),
            _ => assert_eq!(
                started,
                usize::from(must_start),
                "a stall and a continuation"
            ),
        }
        self.unpaid += u32::from(may_start && self.budget == 0);
        self.requests = requests.len();
        self.budget -= started as u16;
        let has_byte = matches!(polled, Poll::Ready(Some(Ok(_))));
        self.check_limits(&requests, now, has_byte);
        match polled {
            Poll::Pending => {
                if started > 0 {
                    (self.waited, self.since) = (0, None);
                }
                self.since.get_or_insert(now);
                let alive = requests.iter().filter(|it| it.is_alive).count();
                let continuations = alive - usize::from(requests[self.owner].is_alive);
                self.concurrent |= continuations > 1;
            }
            Poll::Ready(Some(Ok(chunk))) => self.byte(chunk, &requests),
            Poll::Ready(end) => self.end(end.as_ref(), &requests, position),
        }
    }

    fn byte(&mut self, chunk: &Bytes, requests: &[Request]) {
        if chunk.is_empty() {
            let is_watched = self.case.can_hedge() && self.case.options.max_attempts > 1;
            return assert!(!is_watched, "an empty chunk of a body that is watched");
        }
        (self.waited, self.since) = (0, None);
        let alive = |it: &usize| requests[*it].is_alive;
        let alive: Vec<_> = (0..requests.len()).filter(alive).collect();
        let [owner] = alive[..] else {
            panic!("alive beside the one that had the next byte: {alive:?}");
        };
        if owner != self.owner {
            assert!(requests[owner].has_byte);
            self.won += 1;
            self.taken_over += u32::from(requests[self.owner].end.is_some());
        }
        self.owner = owner;
    }

    /// A body ends with what ended it, when nothing else can continue.
    fn end(&mut self, end: Option<&Result<Bytes>>, requests: &[Request], position: u64) {
        assert!(
            requests.iter().all(|it| !it.is_alive),
            "something can continue"
        );
        let is_whole = position == self.case.range().end;
        match end {
            None => {
                assert_eq!(requests[self.owner].end, Some(Ended::End));
                let is_early = self.case.scripts[self.owner].end == crate::script::End::Early;
                assert!(is_whole || is_early, "it ends at {position}");
            }
            Some(Err(error)) => {
                assert_eq!(requests[self.owner].end, Some(Ended::Broke));
                let text = format!("Generic Scripted error: request {}", self.owner);
                assert_eq!(error.to_string(), text);
                self.failed = true;
            }
            Some(Ok(_)) => unreachable!("a byte is no end"),
        }
    }

    /// A continuation is given up if another body has a byte, or if it has none in time; and it is
    /// not given up if the body ends.
    fn check_limits(&mut self, requests: &[Request], now: u64, has_byte: bool) {
        let is_late = |it: &Request| {
            let limit = self.case.limit();
            limit.is_some_and(|limit| it.started + limit <= now)
        };
        for (number, request) in requests.iter().enumerate().skip(1) {
            let is_undecided = number != self.owner && !request.has_byte;
            if !is_undecided {
                continue;
            }
            if request.is_alive {
                assert!(!is_late(request), "request {number} is too late");
            }
            let was_alive = self.before.get(number).is_none_or(|it| it.is_alive);
            if was_alive && !request.is_alive {
                let is_over = request.end.is_some() || has_byte;
                assert!(is_over || is_late(request), "request {number} was given up");
                let is_final = request.end == Some(Ended::Refused { is_final: true });
                self.other_version += u32::from(is_final);
            }
        }
    }

    /// A reader that was not woken has nothing to do.
    pub(crate) fn check_unwoken(&self, store: &Scripted) {
        let (now, requests) = (store.now(), store.requests());
        let waited = self.waited + self.since.map_or(0, |since| now - since);
        let may_start = self.budget > 0 && self.may_start(&requests, requests.len());
        assert!(
            waited < self.case.stall() || !may_start,
            "a stall lost a wake"
        );
        for (number, request) in requests.iter().enumerate() {
            let is_due = request.is_alive && request.due.is_some_and(|due| due <= now);
            assert!(!is_due, "request {number} lost a wake");
            let is_undecided = number > 0 && number != self.owner && request.is_alive;
            if let Some(limit) = self.case.limit().filter(|_| is_undecided) {
                assert!(request.started + limit > now, "request {number} is overdue");
            }
        }
    }

    /// Whether nothing will happen any more. A stall wakes the reader when it is due.
    pub(crate) fn is_hung(&self, store: &Scripted) -> bool {
        let requests = store.requests();
        let limited = self.case.limit().is_some();
        let waits = |(number, it): (usize, &Request)| {
            it.is_alive && (it.due.is_some() || limited && number > 0 && number != self.owner)
        };
        let is_waiting = requests.iter().enumerate().any(waits);
        let since = self.since.unwrap_or(store.now());
        let will_stall = self.waited + (store.now() - since) <= self.case.stall();
        !is_waiting && !will_stall
    }
}
