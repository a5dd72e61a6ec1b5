use std::{sync::Arc, time::Duration};

use race_wheel::{Key, Tick};

use super::{
    ConsumerId,
    declined_rounds::{AvoidedConsumers, DeclinedRounds},
    round::Round,
};
use crate::{
    clock::Now,
    ledger::{KickedTask, ListedTask, Position, TaskRevision},
};
use hyper_delay_protocol::Terms;

/// A task in memory.
#[derive(Debug)]
pub(super) struct TaskInMemory {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    /// Its time on disk, Unix milliseconds.
    pub(super) at: u64,
    /// Whether it is parked on disk; it waits there otherwise.
    pub(super) is_parked: bool,
    /// Rounds so far, the current one included.
    pub(super) attempt: u32,
    /// Rounds that failed.
    pub(super) failures: u32,
    /// The consumer whose copy ended last without an ack; chosen last for the next round.
    pub(super) last_consumer: Option<ConsumerId>,
    /// The rounds that ended without a failure since the last one that failed, if any did.
    pub(super) declined: Option<Box<DeclinedRounds>>,
    /// Its own terms, which replace the settings.
    pub(super) terms: Option<Box<Terms>>,
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

    /// A dead letter that is due again at a time.
    pub(super) fn from_kicked(route: Arc<str>, id: Arc<str>, at: u64, kicked: KickedTask) -> Self {
        Self {
            terms: kicked.terms,
            ..Self::new(route, id, at, kicked.attempt)
        }
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
