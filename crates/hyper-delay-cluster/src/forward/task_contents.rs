//! Whether this node has the contents of the tasks of a shard, and the copies that wait for them.
//!
//! A replica can stall: its disk is full or damaged, or this node is cut off from the log and
//! not from the leader. Then its consumers get no copies: those that wait are given back, and the
//! leader takes the connections for closing ones, until a new session begins.

mod awaiting_copies;

use std::time::Duration;

use race_wheel::Tick;

use self::awaiting_copies::{AwaitingCopies, AwaitingCopy};
use super::wire::ForwardedCopy;
use hyper_delay_engine::{clock::nanos, scheduler::ConsumerId};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct TaskContents {
    /// The replica has stalled if a copy waits for it for this long, in nanoseconds.
    patience: u64,
    /// The last entry that the replica of this node contains.
    applied: u64,
    state: ReplicaState,
    /// Empty unless the contents are available.
    awaiting: AwaitingCopies,
}

/// Whether the replica of this node has the contents of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplicaState {
    Available,
    /// It stands still. It has them again when it contains this entry.
    Behind(u64),
    Stopped,
}

/// A copy, and the connection that it is for.
pub(super) type ReceivedCopy = (ConsumerId, ForwardedCopy);

/// What becomes of a copy that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyArrival {
    /// This node has its content.
    Deliver(ForwardedCopy),
    /// It waits for its content.
    Awaits,
    /// The consumers of this node get no copies.
    Return(ForwardedCopy),
}

/// What a change of the replica means for the consumers of this node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentsChange {
    None,
    /// They get no copies from now on. These have waited for their contents.
    Suspended(Vec<ReceivedCopy>),
    /// They get copies again, in a new session.
    Resumed,
}

impl TaskContents {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience: nanos(patience),
            applied: 0,
            state: ReplicaState::Available,
            awaiting: AwaitingCopies::default(),
        }
    }

    /// Returns whether the consumers of this node get copies.
    pub(super) fn are_available(&self) -> bool {
        self.state == ReplicaState::Available
    }

    /// Returns the last entry that the replica of this node contains.
    pub(super) const fn applied(&self) -> u64 {
        self.applied
    }

    /// A copy comes, which is not written any more from `write_by` on. It waits until this node has
    /// its content.
    pub(super) fn receive(
        &mut self,
        (consumer, copy): ReceivedCopy,
        write_by: Tick,
        now: Tick,
    ) -> CopyArrival {
        if !self.are_available() {
            CopyArrival::Return(copy)
        } else if self.applied < copy.after {
            self.awaiting.push(AwaitingCopy {
                since: now,
                write_by,
                consumer,
                copy,
            });
            CopyArrival::Awaits
        } else {
            CopyArrival::Deliver(copy)
        }
    }

    /// The replica contains this entry. Returns the copies that have waited for it.
    pub(super) fn apply(&mut self, seq: u64) -> (ContentsChange, Vec<ReceivedCopy>) {
        // A replica that is made anew begins at a lower place.
        self.applied = seq;
        let copies = self.awaiting.take_until(seq);
        let resumes = matches!(self.state, ReplicaState::Behind(place) if place <= seq);
        let change = match resumes {
            true => self.resume(),
            false => ContentsChange::None,
        };
        (change, copies)
    }

    /// Whether the replica follows its shard. One that has stopped may be damaged.
    pub(super) fn follow(&mut self, follows: bool) -> ContentsChange {
        match (self.state, follows) {
            (ReplicaState::Stopped, true) => self.resume(),
            (ReplicaState::Available | ReplicaState::Behind(_), false) => {
                self.suspend(ReplicaState::Stopped)
            }
            _ => ContentsChange::None,
        }
    }

    /// Checks whether a copy has waited for too long.
    pub(super) fn check(&mut self, now: Tick) -> ContentsChange {
        let since = self.awaiting.first_since();
        let is_late = since.is_some_and(|since| since + self.patience <= now);
        match self.awaiting.last_place().filter(|_| is_late) {
            Some(place) => self.suspend(ReplicaState::Behind(place)),
            None => ContentsChange::None,
        }
    }

    fn suspend(&mut self, state: ReplicaState) -> ContentsChange {
        self.state = state;
        ContentsChange::Suspended(self.take_copies())
    }

    const fn resume(&mut self) -> ContentsChange {
        self.state = ReplicaState::Available;
        ContentsChange::Resumed
    }

    /// Returns when a copy has waited for too long.
    pub(super) fn next_event(&self) -> Option<Tick> {
        let since = self.awaiting.first_since();
        let stalled = since.map(|since| since + self.patience);
        let unwritten = self.awaiting.first_write_by();
        stalled.into_iter().chain(unwritten).min()
    }

    /// Removes and returns the copies that are not written any more.
    pub(super) fn take_unwritten(&mut self, now: Tick) -> Vec<ReceivedCopy> {
        self.awaiting.take_if(|awaiting| awaiting.write_by <= now)
    }

    /// Removes and returns the waiting copies for a connection that are of some routes.
    pub(super) fn take_copies_of(
        &mut self,
        consumer: ConsumerId,
        is_of: impl Fn(&str) -> bool,
    ) -> Vec<ReceivedCopy> {
        self.awaiting.take_if(|awaiting| {
            awaiting.consumer == consumer && is_of(&awaiting.copy.revision.route)
        })
    }

    /// Removes and returns the waiting copies.
    pub(super) fn take_copies(&mut self) -> Vec<ReceivedCopy> {
        self.awaiting.take_until(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
