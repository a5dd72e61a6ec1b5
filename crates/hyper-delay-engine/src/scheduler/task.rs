use std::{sync::Arc, time::Duration};

use race_wheel::{Key, Tick};

use super::{
    ConsumerId,
    declined_rounds::{AvoidedConsumers, DeclinedRounds},
    round::{CopyEnd, Round},
};
use crate::{
    clock::Now,
    ledger::{KickedTask, ListedTask, MovedTask, Op, Position, TaskRevision},
};
use hyper_delay_protocol::{LastFailure, Terms};

/// A task in memory.
#[derive(Debug)]
pub(super) struct TaskInMemory {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    /// Its time on disk, Unix milliseconds.
    at: u64,
    /// Whether it is parked on disk; it waits there otherwise.
    is_parked: bool,
    /// Rounds so far, the current one included.
    attempt: u32,
    /// Rounds that failed.
    failures: u32,
    /// The consumer whose copy ended last without an ack; chosen last for the next round.
    last_consumer: Option<ConsumerId>,
    /// The rounds that ended without a failure since the last one that failed, if any did.
    declined: Option<Box<DeclinedRounds>>,
    /// Its own terms, which replace the settings.
    terms: Option<Box<Terms>>,
}

/// The state of a task in memory. [`TaskTable`](super::task_table::TaskTable) has a method for each
/// change.
#[derive(Debug)]
pub(super) enum DeliveryState {
    /// Its time has come, and it is about to be queued or parked. No task is due between two calls
    /// of the scheduler.
    Due,
    /// Due later.
    Waiting { timer: Key, due: DueBy },
    /// Due, and queued until a consumer of its route has room.
    Ready,
    /// With consumers.
    InFlight(Round),
    /// A write of a change is in flight.
    Committing(PendingChange),
}

/// A change whose write is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingChange {
    /// No consumer can take it: it is parked.
    Park,
    /// A round has failed: the next one is due later.
    Retry,
    /// Its last round has failed.
    Bury,
    /// It is acknowledged.
    Finish,
    /// Its time has passed.
    Expire,
    /// It is due, and a move of the task with its name is in flight: it is held until that is on
    /// disk, and then due at another time, or offered again.
    Move,
}

/// The clock by which a waiting task becomes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DueBy {
    /// Its time on disk, by the wall clock.
    Wall,
    /// A moment of monotonic time, so that a backoff does not follow a wall clock that is set.
    Monotonic(Tick),
    /// It is due, and the consumers that have room rest. It is offered again after a while.
    Rest,
}

impl TaskInMemory {
    /// A task that is on disk for a time, with `attempt` rounds so far and no failures.
    pub(super) const fn new(route: Arc<str>, id: Arc<str>, at: u64, attempt: u32) -> Self {
        Self {
            route,
            id,
            at,
            is_parked: false,
            attempt,
            failures: 0,
            last_consumer: None,
            declined: None,
            terms: None,
        }
    }

    /// The same task with terms of its own.
    #[inline]
    pub(super) fn with_terms(self, terms: Option<Box<Terms>>) -> Self {
        Self { terms, ..self }
    }

    /// A dead letter that is due again at a time.
    pub(super) fn from_kicked(route: Arc<str>, id: Arc<str>, at: u64, kicked: KickedTask) -> Self {
        Self::new(route, id, at, kicked.attempt).with_terms(kicked.terms)
    }

    /// A task as it was read from the waiting ones.
    pub(super) fn from_waiting(listed: ListedTask) -> (u64, Self) {
        let task = Self {
            failures: listed.failures,
            terms: listed.terms,
            ..Self::new(listed.route, listed.id, listed.position.at, listed.attempt)
        };
        (listed.position.seq, task)
    }

    /// A task as it was read from the parked ones.
    pub(super) fn from_parked(listed: ListedTask) -> (u64, Self) {
        let (seq, task) = Self::from_waiting(listed);
        let task = Self {
            is_parked: true,
            ..task
        };
        (seq, task)
    }

    /// A task that was not in memory when it was moved.
    pub(super) fn from_moved(route: Arc<str>, id: Arc<str>, moved: MovedTask) -> Self {
        Self {
            is_parked: moved.is_parked,
            failures: moved.failures,
            ..Self::new(route, id, moved.due, moved.attempt)
        }
        .with_terms(moved.terms)
    }

    /// It is at another time on disk.
    pub(super) const fn set_moved(&mut self, moved: &MovedTask) {
        self.at = moved.due;
        self.is_parked = moved.is_parked;
    }

    /// Its time on disk, in Unix milliseconds.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Whether it is parked on disk; it waits there otherwise.
    pub(super) const fn is_parked(&self) -> bool {
        self.is_parked
    }

    /// The number of its latest round.
    pub(super) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The number of its rounds that failed.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    /// Its own terms, which replace the settings.
    pub(super) fn own_terms(&self) -> Terms {
        self.terms.as_deref().copied().unwrap_or_default()
    }

    /// A round begins. Its number is higher than `used`, too.
    pub(super) fn begin_attempt(&mut self, used: u32) {
        self.attempt = self.attempt.max(used).saturating_add(1);
    }

    /// The numbers of rounds up to this one are not used again. Returns whether they could have been.
    pub(super) fn use_attempts(&mut self, up_to: u32) -> bool {
        let is_later = up_to > self.attempt;
        self.attempt = self.attempt.max(up_to);
        is_later
    }

    /// A consumer is chosen last for the next round: its copy has ended without an ack. `None`: no
    /// consumer is.
    pub(super) const fn avoid(&mut self, consumer: Option<ConsumerId>) {
        self.last_consumer = consumer;
    }

    /// A round has ended without an ack. Returns whether it counts as a failure, which it also does
    /// if too many have ended without one.
    pub(super) fn end_round(&mut self, is_failure: bool) -> bool {
        let is_counted = match is_failure {
            true => {
                self.declined = None;
                true
            }
            false => self.declined.get_or_insert_default().add_round(),
        };
        self.failures = self.failures.saturating_add(u32::from(is_counted));
        is_counted
    }

    /// The consumers of a round that was no failure, and the one whose copy ended last, are not
    /// chosen before `until`.
    pub(super) fn rest(
        &mut self,
        consumers: impl Iterator<Item = ConsumerId>,
        until: Tick,
        now: Tick,
    ) {
        if let Some(declined) = &mut self.declined {
            for consumer in consumers.chain(self.last_consumer) {
                declined.add_rest(consumer, until, now);
            }
        }
    }

    /// It waits until a time, in Unix milliseconds. Returns the operation that writes this.
    pub(super) fn retry_at(&mut self, seq: u64, at: u64, failure: Option<Box<LastFailure>>) -> Op {
        self.at = at;
        self.is_parked = false;
        Op::Retry {
            at,
            attempt: self.attempt,
            failures: self.failures,
            revision: self.revision(seq),
            failure,
        }
    }

    /// Returns the operation that makes it dead at a time, in Unix milliseconds, because of the end
    /// of its last copy.
    pub(super) fn burial(&self, seq: u64, at: u64, end: CopyEnd) -> Op {
        Op::Bury {
            at,
            attempt: self.attempt,
            failures: self.failures,
            revision: self.revision(seq),
            reason: end.reason.clone(),
            failure: Some(end.into_failure(at)),
        }
    }

    /// Returns the operation that writes the number of its latest round.
    pub(super) fn count(&self, seq: u64) -> Op {
        Op::Count {
            revision: self.revision(seq),
            attempt: self.attempt,
        }
    }

    /// When the first of the consumers that rest does so no longer.
    pub(super) fn rest_end(&self, now: Tick) -> Option<Tick> {
        self.declined.as_ref()?.first_rest_end(now)
    }

    /// The consumers that are chosen last for it, or not at all.
    pub(super) fn avoided(&self) -> AvoidedConsumers<'_> {
        AvoidedConsumers {
            last: self.last_consumer,
            declined: self.declined.as_deref(),
        }
    }

    /// When it expires, in Unix milliseconds.
    pub(super) fn expires_at(&self) -> Option<u64> {
        self.terms.as_ref()?.expires_at
    }

    /// The time that a consumer has to answer it, if it has one of its own.
    pub(super) fn ack_timeout(&self) -> Option<Duration> {
        let millis = self.terms.as_ref()?.ack_timeout_ms;
        millis.map(Duration::from_millis)
    }

    /// Whether its time has passed: no round of it begins any more.
    pub(super) fn is_expired(&self, now: Now) -> bool {
        self.expires_at().is_some_and(|at| at <= now.wall_millis())
    }

    /// Its position in the order of time.
    pub(super) const fn position(&self, seq: u64) -> Position {
        Position { at: self.at, seq }
    }

    /// The revision that it is.
    pub(super) fn revision(&self, seq: u64) -> TaskRevision {
        TaskRevision {
            route: self.route.clone(),
            id: self.id.clone(),
            seq,
            attempt: self.attempt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskInMemory {
        TaskInMemory::new("route".into(), "id".into(), 5, 3)
    }

    #[test]
    fn the_number_of_a_round_is_used_once() {
        let mut task = task();
        task.begin_attempt(0);
        assert_eq!(task.attempt(), 4);
        assert!(!task.use_attempts(4) && task.use_attempts(6) && !task.use_attempts(5));
        task.begin_attempt(9);
        assert_eq!(task.attempt(), 10, "a late copy of another revision has 9");
        task.begin_attempt(9);
        assert_eq!(task.attempt(), 11);
    }

    #[test]
    fn the_eleventh_round_in_a_row_without_a_failure_counts_as_one() {
        let mut task = task();
        for _ in 0..10 {
            assert!(!task.end_round(false));
        }
        assert!(task.end_round(false) && task.end_round(true));
        assert_eq!(task.failures(), 2);
        assert!(!task.end_round(false), "a failure begins the count anew");
    }

    #[test]
    fn the_consumers_of_a_round_rest_only_if_it_was_no_failure() {
        let (mut task, until) = (task(), Tick::new(9));
        task.avoid(Some(2));
        task.end_round(true);
        task.rest([1].into_iter(), until, Tick::ZERO);
        assert_eq!(task.rest_end(Tick::ZERO), None);
        task.end_round(false);
        task.rest([1].into_iter(), until, Tick::ZERO);
        let avoided = task.avoided();
        let rests = [1, 2, 3].map(|consumer| avoided.rests_until(consumer, Tick::ZERO));
        assert_eq!(rests, [Some(until), Some(until), None]);
        assert_eq!((avoided.last, task.rest_end(until)), (Some(2), None));
    }

    #[test]
    fn a_parked_task_that_is_retried_waits() {
        let mut task = TaskInMemory {
            is_parked: true,
            ..task()
        };
        task.end_round(true);
        let retry = task.retry_at(7, 80, None);
        assert_eq!((task.at(), task.is_parked()), (80, false));
        let written = Op::Retry {
            at: 80,
            attempt: 3,
            failures: 1,
            revision: task.revision(7),
            failure: None,
        };
        assert_eq!(retry, written);
    }
}
