use std::sync::Arc;

use race_wheel::{Key, Tick};

use super::{ConsumerId, hedge::RoundNumber};
use crate::ledger::Subject;

/// A task in memory.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    /// Its time on disk, Unix milliseconds.
    pub(super) at: u64,
    /// Whether its entry is with what is parked.
    pub(super) parked: bool,
    /// Rounds so far, with the one under way.
    pub(super) attempt: u32,
    /// Rounds that failed.
    pub(super) failures: u32,
    /// Who let it down last; somebody else is to have it next, if there is anybody.
    pub(super) avoid: Option<ConsumerId>,
    pub(super) state: State,
}

#[derive(Debug)]
pub(super) enum State {
    /// Due later.
    Armed { timer: Key, due: Due },
    /// Due, and waiting for a consumer to have room.
    Ready,
    /// With consumers.
    InFlight {
        copies: Copies,
        /// The race, if the round is hedged.
        round: Option<RoundNumber>,
    },
    /// Something about it is on its way to the disk.
    Changing,
}

/// What decides when a task is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The time on disk, by the wall clock.
    Wall,
    /// This moment, wherever the wall clock goes: a backoff.
    Monotonic(Tick),
}

/// Who has a copy: mostly one.
#[derive(Debug, Default)]
pub(super) struct Copies {
    first: Option<ConsumerId>,
    others: Vec<ConsumerId>,
}

impl Copies {
    pub(super) const fn one(consumer: ConsumerId) -> Self {
        Self {
            first: Some(consumer),
            others: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, consumer: ConsumerId) {
        match self.first {
            None => self.first = Some(consumer),
            Some(_) => self.others.push(consumer),
        }
    }

    pub(super) fn remove(&mut self, consumer: ConsumerId) {
        if self.first == Some(consumer) {
            self.first = self.others.pop();
        } else {
            self.others.retain(|other| *other != consumer);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ConsumerId> {
        self.first.iter().chain(&self.others).copied()
    }
}

impl Live {
    pub(super) fn subject(&self, seq: u64) -> Subject {
        Subject {
            route: self.route.clone(),
            id: self.id.clone(),
            seq,
            attempt: self.attempt,
        }
    }
}
