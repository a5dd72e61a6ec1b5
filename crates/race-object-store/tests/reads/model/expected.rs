//! What should happen.

use std::collections::BTreeMap;

use race_core::{CatchUp, OnFailure};

use super::{
    End, Outcome,
    case::{Answers, Case, Options, Read},
    purse::Purse,
};
use crate::slow::Kind;

impl Case {
    /// Returns what should happen to each read.
    pub(super) fn expected(&self) -> Vec<Outcome> {
        let mut purse = self.options.budget.map(Purse::new);
        let reads = self.reads.iter();
        let read = |read| Model::new(&self.options, read, purse.as_mut()).end();
        reads.map(read).collect()
    }
}

/// One read.
struct Model<'a> {
    options: &'a Options,
    read: &'a Read,
    purse: Option<&'a mut Purse>,
    now: u64,
    starts: Vec<u64>,
    running: Vec<Running>,
    cancelled: BTreeMap<usize, u64>,
    last_error: Option<usize>,
    /// When the delay makes the next attempt due.
    due: Option<u64>,
    /// A failure makes the next attempt due.
    is_called: bool,
    /// As many attempts as allowed were running after the last poll.
    was_full: bool,
}

struct Running {
    number: usize,
    /// What it still waits for, the next one last.
    waits: Vec<u64>,
    /// When the present wait began.
    since: u64,
}

impl Running {
    /// A wait begins when the poll finds that the one before is over.
    fn wait_until(&mut self, now: u64) {
        while let Some(wait) = self.waits.last() {
            if now - self.since < *wait {
                return;
            }
            self.waits.pop();
            self.since = now;
        }
    }
}

impl<'a> Model<'a> {
    fn new(options: &'a Options, read: &'a Read, purse: Option<&'a mut Purse>) -> Self {
        Self {
            options,
            read,
            purse,
            now: 0,
            starts: vec![],
            running: vec![],
            cancelled: BTreeMap::new(),
            last_error: None,
            due: Some(0),
            is_called: false,
            was_full: false,
        }
    }

    fn end(mut self) -> Outcome {
        loop {
            if !self.read.unpolled.contains(&self.now) {
                if let Some(end) = self.poll() {
                    return self.outcome(end);
                }
                self.was_full = self.is_full();
            }
            self.now += 1;
        }
    }

    fn outcome(mut self, end: End) -> Outcome {
        let losers = self.running.iter().map(|it| (it.number, self.now));
        self.cancelled.extend(losers);
        Outcome {
            end,
            at: self.now,
            starts: self.starts,
            cancelled: self.cancelled,
        }
    }

    /// Returns how the read ends, if it does in this millisecond.
    fn poll(&mut self) -> Option<End> {
        loop {
            if let Some(number) = self.take_finished() {
                let is_answer = match self.read.attempts[number].fails {
                    None => return Some(End::Read),
                    Some(kind) => match self.options.answers {
                        Answers::Default => kind != Kind::Generic,
                        Answers::All => true,
                        Answers::None => false,
                    },
                };
                if is_answer {
                    return Some(End::Failed(number));
                }
                self.last_error = Some(number);
                self.call_after(number);
            } else if self.running.is_empty() && (!self.can_start() || self.is_too_late()) {
                return Some(self.last_error.map_or(End::TimedOut, End::Failed));
            } else if let Some(expired) = self.expired() {
                let Some(number) = expired else {
                    return Some(End::Deadline);
                };
                self.running.retain(|it| it.number != number);
                self.cancelled.insert(number, self.now);
                self.call_after(number);
            } else if self.is_due() {
                match self.pays() {
                    true => self.start(),
                    false => (self.due, self.is_called) = (None, false),
                }
            } else {
                return None;
            }
        }
    }

    /// The attempt that started first of those that have finished.
    fn take_finished(&mut self) -> Option<usize> {
        for attempt in &mut self.running {
            attempt.wait_until(self.now);
        }
        let mut running = self.running.iter();
        let place = running.position(|it| it.waits.is_empty())?;
        Some(self.running.remove(place).number)
    }

    /// What has expired first: an attempt, or else the deadline.
    fn expired(&self) -> Option<Option<usize>> {
        let deadline = self.options.deadline.map(|at| (at, None));
        let oldest = self.running.first().map(|it| it.number);
        let timeout = self.options.attempt_timeout.zip(oldest);
        let attempt =
            timeout.map(|(timeout, oldest)| (self.starts[oldest] + timeout, Some(oldest)));
        let both = [attempt, deadline].into_iter().flatten();
        let (at, expired) = both.min_by_key(|(at, _)| *at)?;
        (at <= self.now).then_some(expired)
    }

    /// Makes the next attempt due if the failure of this one does so.
    fn call_after(&mut self, number: usize) {
        let is_latest = number + 1 == self.starts.len();
        self.is_called |= match self.options.on_failure {
            OnFailure::Any => true,
            OnFailure::IfLatest => is_latest || self.running.is_empty(),
            OnFailure::IfIdle => self.running.is_empty(),
            _ => false,
        };
    }

    fn is_full(&self) -> bool {
        self.running.len() >= self.options.max_in_flight
    }

    /// Whether the next attempt will start, if nothing else happens.
    fn can_start(&self) -> bool {
        self.starts.len() < self.options.max_attempts && (self.is_called || self.due.is_some())
    }

    /// Whether the deadline comes before the next start, or at the same time.
    fn is_too_late(&self) -> bool {
        let due = match self.is_called {
            true => 0,
            false => self.due.unwrap_or(0),
        };
        let start = due.max(self.gap_ends());
        start > 0
            && self
                .options
                .deadline
                .is_some_and(|deadline| deadline <= start)
    }

    fn is_due(&self) -> bool {
        let is_late = self.due.is_some_and(|due| due <= self.now);
        self.can_start()
            && !self.is_full()
            && self.gap_ends() <= self.now
            && (self.is_called || is_late)
    }

    /// When the minimum gap after the latest start ends; 0 if there is none.
    fn gap_ends(&self) -> u64 {
        match (self.options.min_gap, self.starts.last()) {
            (0, _) | (_, None) => 0,
            (gap, Some(latest)) => latest + gap,
        }
    }

    /// Pays for the next attempt, unless it is free.
    fn pays(&mut self) -> bool {
        let Some(purse) = &mut self.purse else {
            return true;
        };
        if self.starts.is_empty() {
            purse.deposit();
            return true;
        }
        let is_hedge = !self.is_called && !self.running.is_empty();
        !(is_hedge || purse.charges_failover()) || purse.pays()
    }

    fn start(&mut self) {
        let delay = self.options.delay.max(self.options.min_gap);
        // What waited for a place or for the gap is not late, nor is what a failure started.
        let is_scheduled = !self.starts.is_empty() && !self.is_called && !self.was_full;
        let planned = self.due.filter(|&due| {
            let has_waited_for_gap = due < self.gap_ends();
            is_scheduled && delay > 0 && !has_waited_for_gap
        });
        self.due = Some(match (self.options.catch_up, planned) {
            (CatchUp::Burst, Some(planned)) => planned + delay,
            (CatchUp::Skip, Some(planned)) => {
                let mut slots = (1..).map(|slot| planned + slot * delay);
                slots.find(|&at| at > self.now).unwrap()
            }
            _ => self.now + delay,
        });
        (self.is_called, self.was_full) = (false, false);
        let number = self.starts.len();
        let mut waits = self.read.waits(&self.read.attempts[number]);
        waits.reverse();
        let since = self.now;
        self.starts.push(since);
        self.running.push(Running {
            number,
            waits,
            since,
        });
    }
}
