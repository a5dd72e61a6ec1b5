//! Copies of tasks wait until this node has their contents.
//!
//! A replica can stand still: its disk is full or damaged, or this node is cut off from the log and
//! not from the leader. Then its consumers get no copies: those that wait are given back, and the
//! leader takes the connections for closing ones, until a new session begins.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::Delivered,
    session::{Awaiting, Contents},
    wire::{Copy, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::ConsumerId;

/// A replica stands still if a copy waits for it for this part of a lease.
const PATIENCE: u32 = 2;

impl Forwarder {
    /// A copy of a task comes. It waits until this node has its content.
    pub(super) fn copy(&mut self, shard: ShardId, consumer: ConsumerId, copy: Copy) {
        let since = self.now.monotonic;
        let session = self.session(shard);
        if session.contents != Contents::Here {
            self.gives_back(shard, consumer, copy);
        } else if session.applied < copy.after {
            let up = session.up();
            let write_by = up.map_or(since, |up| up.holds.here(copy.write_by));
            let copies = session.awaiting.entry(copy.after).or_default();
            copies.push(Awaiting {
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
    pub(super) fn applied(&mut self, shard: ShardId, seq: u64) {
        let session = self.session(shard);
        // A replica that is made anew begins at a lower place.
        session.applied = seq;
        let later = session.reading.split_off(&(seq + 1));
        let read = std::mem::replace(&mut session.reading, later);
        let later = session.awaiting.split_off(&(seq + 1));
        let now_there = std::mem::replace(&mut session.awaiting, later);
        if matches!(session.contents, Contents::Behind(place) if place <= seq) {
            self.are_here_again(shard);
        }
        for Awaiting { consumer, copy, .. } in now_there.into_values().flatten() {
            self.deliver(shard, consumer, &copy);
        }
        self.has_caught_up(shard, read.into_values().flatten().collect());
    }

    /// Whether the replica of this node follows its shard.
    pub(super) fn follows(&mut self, shard: ShardId, follows: bool) {
        let has_stopped = self.session(shard).contents == Contents::Stopped;
        match (has_stopped, follows) {
            (true, true) => self.are_here_again(shard),
            (false, false) => self.are_gone(shard, Contents::Stopped),
            _ => {}
        }
    }

    /// Looks whether copies have waited for too long.
    pub(super) fn check_contents(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let late = self.session(shard).take_awaiting(|it| it.write_by <= now);
        for Awaiting { consumer, copy, .. } in late {
            self.gives_back_as(shard, consumer, copy, Delivered::was_unwritten);
        }
        let before = self.now_minus(PATIENCE);
        let session = self.session(shard);
        let is_late = session.awaits_since().is_some_and(|since| since <= before);
        let last = session.awaiting.last_key_value().map(|(place, _)| *place);
        if let Some(place) = last.filter(|_| is_late) {
            self.are_gone(shard, Contents::Behind(place));
        }
    }

    /// The consumers of this node get no copies from now on.
    fn are_gone(&mut self, shard: ShardId, contents: Contents) {
        let session = self.session(shard);
        session.contents = contents;
        if let Some(up) = session.up_mut() {
            up.lends = false;
        }
        let session = self.session(shard);
        for Awaiting { consumer, copy, .. } in std::mem::take(&mut session.awaiting)
            .into_values()
            .flatten()
        {
            self.gives_back(shard, consumer, copy);
        }
        let connections = self.connections.iter();
        let opened = connections.filter(|(_, connection)| connection.opened.contains(&shard));
        let opened: Vec<ConsumerId> = opened.map(|(consumer, _)| *consumer).collect();
        for consumer in opened {
            self.send(shard, ToLeader::Closing(consumer));
            if let Some(connection) = self.connections.get_mut(&consumer) {
                connection.lending.retire(shard);
            }
            self.balance(consumer);
        }
    }

    /// The consumers of this node get copies again, in a new session.
    fn are_here_again(&mut self, shard: ShardId) {
        self.session(shard).contents = Contents::Here;
        self.end(shard);
    }

    /// A copy is not written. It goes to another consumer, and has not failed.
    pub(super) fn gives_back(&mut self, shard: ShardId, consumer: ConsumerId, copy: Copy) {
        self.gives_back_as(shard, consumer, copy, Delivered::was_void);
    }

    /// Gives a copy back; `told` makes the message to its leader.
    fn gives_back_as(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        copy: Copy,
        told: fn(&Delivered, ConsumerId, Arc<str>) -> ToLeader,
    ) {
        let Some(up) = self.session(shard).up() else {
            return;
        };
        let delivered = up.delivered(&copy);
        let id = copy.subject.id;
        let message = told(&delivered, consumer, id.clone());
        self.send_to(consumer, (&id, delivered), message);
    }
}
