//! Copies of tasks wait until this node has their contents.
//!
//! A replica can stall: its disk is full or damaged, or this node is cut off from the log and
//! not from the leader. Then its consumers get no copies: those that wait are given back, and the
//! leader takes the connections for closing ones, until a new session begins.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::{ServedDelivery, unwritten_message, void_message},
    leader_session::{AwaitingCopy, TaskContents},
    wire::{ForwardedCopy, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::ConsumerId;

/// A replica has stalled if a copy waits for it for this part of a lease.
const PATIENCE: u32 = 2;

impl Forwarder {
    /// A copy of a task comes. It waits until this node has its content.
    pub(super) fn receive_copy(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        copy: ForwardedCopy,
    ) {
        let since = self.now.monotonic;
        let session = self.session(shard);
        if session.contents != TaskContents::Available {
            self.return_copy(shard, consumer, copy);
        } else if session.applied < copy.after {
            let active = session.active();
            let write_by = active.map_or(since, |active| active.grant.to_local(copy.write_by));
            let copies = session.awaiting_copies.entry(copy.after).or_default();
            copies.push(AwaitingCopy {
                since,
                write_by,
                consumer,
                copy,
            });
        } else {
            self.deliver(shard, consumer, &copy);
        }
    }

    /// The replica of this node contains this entry.
    pub(super) fn replica_applied(&mut self, shard: ShardId, seq: u64) {
        let session = self.session(shard);
        // A replica that is made anew begins at a lower place.
        session.applied = seq;
        let later = session.awaiting_copies.split_off(&(seq + 1));
        let now_there = std::mem::replace(&mut session.awaiting_copies, later);
        if matches!(session.contents, TaskContents::Behind(place) if place <= seq) {
            self.resume_deliveries(shard);
        }
        for AwaitingCopy { consumer, copy, .. } in now_there.into_values().flatten() {
            self.deliver(shard, consumer, &copy);
        }
        for query in self.queries.replica_applied(shard, seq) {
            self.complete_query(query);
        }
    }

    /// Whether the replica of this node follows its shard.
    pub(super) fn replica_follows(&mut self, shard: ShardId, follows: bool) {
        let has_stopped = self.session(shard).contents == TaskContents::Stopped;
        match (has_stopped, follows) {
            (true, true) => self.resume_deliveries(shard),
            (false, false) => self.suspend_deliveries(shard, TaskContents::Stopped),
            _ => {}
        }
    }

    /// Checks whether copies have waited for too long.
    pub(super) fn check_contents(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let late = self.session(shard).take_awaiting(|it| it.write_by <= now);
        for AwaitingCopy { consumer, copy, .. } in late {
            self.return_copy_as(shard, consumer, copy, unwritten_message);
        }
        let before = self.now_minus(PATIENCE);
        let session = self.session(shard);
        let is_late = session.awaits_since().is_some_and(|since| since <= before);
        let last = session
            .awaiting_copies
            .last_key_value()
            .map(|(place, _)| *place);
        if let Some(place) = last.filter(|_| is_late) {
            self.suspend_deliveries(shard, TaskContents::Behind(place));
        }
    }

    /// The consumers of this node get no copies from now on.
    fn suspend_deliveries(&mut self, shard: ShardId, contents: TaskContents) {
        let session = self.session(shard);
        session.contents = contents;
        if let Some(active) = session.active_mut() {
            active.lends = false;
        }
        let session = self.session(shard);
        for AwaitingCopy { consumer, copy, .. } in std::mem::take(&mut session.awaiting_copies)
            .into_values()
            .flatten()
        {
            self.return_copy(shard, consumer, copy);
        }
        for consumer in self.opened_at(shard) {
            self.send(shard, ToLeader::Closing(consumer));
            self.front.retire(consumer, shard);
            self.balance(consumer);
        }
    }

    /// The consumers of this node get copies again, in a new session.
    fn resume_deliveries(&mut self, shard: ShardId) {
        self.session(shard).contents = TaskContents::Available;
        self.end_session(shard);
    }

    /// A copy is not written. It goes to another consumer, and has not failed.
    pub(super) fn return_copy(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        copy: ForwardedCopy,
    ) {
        self.return_copy_as(shard, consumer, copy, void_message);
    }

    /// Gives a copy back; `message` makes the message to its leader.
    fn return_copy_as(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        copy: ForwardedCopy,
        message: fn(&ServedDelivery, ConsumerId, Arc<str>) -> ToLeader,
    ) {
        let Some(active) = self.session(shard).active() else {
            return;
        };
        let delivered = active.delivered(&copy);
        let id = copy.revision.id;
        let message = message(&delivered, consumer, id.clone());
        self.send_to(consumer, (&id, delivered), message);
    }
}
