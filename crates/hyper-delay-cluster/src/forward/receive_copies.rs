//! Copies of tasks come from leaders, and wait until this node has their contents.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::{ServedDelivery, unwritten_message, void_message},
    task_contents::{ContentsChange, CopyArrival},
    wire::{ForwardedCopy, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::ConsumerId;

impl Forwarder {
    /// A copy of a task comes. It waits until this node has its content.
    pub(super) fn receive_copy(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        copy: ForwardedCopy,
    ) {
        let now = self.now.monotonic;
        let Some(active) = self.session(shard).active() else {
            return;
        };
        let write_by = active.to_local(copy.write_by);
        match self.contents[shard].receive((consumer, copy), write_by, now) {
            CopyArrival::Deliver(copy) => self.deliver(shard, consumer, &copy),
            CopyArrival::Awaits => {}
            CopyArrival::Return(copy) => self.return_copy(shard, consumer, copy),
        }
    }

    /// The replica of this node contains this entry.
    pub(super) fn replica_applied(&mut self, shard: ShardId, seq: u64) {
        let (change, copies) = self.contents[shard].apply(seq);
        self.contents_changed(shard, change);
        for (consumer, copy) in copies {
            self.deliver(shard, consumer, &copy);
        }
        for query in self.queries.replica_applied(shard, seq) {
            self.complete_query(query);
        }
    }

    /// Whether the replica of this node follows its shard.
    pub(super) fn replica_follows(&mut self, shard: ShardId, follows: bool) {
        let change = self.contents[shard].follow(follows);
        self.contents_changed(shard, change);
    }

    /// Checks whether copies have waited for too long.
    pub(super) fn check_contents(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        for (consumer, copy) in self.contents[shard].take_unwritten(now) {
            self.return_copy_as(shard, consumer, copy, unwritten_message);
        }
        let change = self.contents[shard].check(now);
        self.contents_changed(shard, change);
    }

    fn contents_changed(&mut self, shard: ShardId, change: ContentsChange) {
        match change {
            ContentsChange::None => {}
            ContentsChange::Suspended(copies) => {
                self.session(shard).stop_lending();
                for (consumer, copy) in copies {
                    self.return_copy(shard, consumer, copy);
                }
                for consumer in self.served.known_at(shard) {
                    self.send(shard, ToLeader::Closing(consumer));
                    self.front.retire(consumer, shard);
                    self.balance(consumer);
                }
            }
            ContentsChange::Resumed => self.end_session(shard),
        }
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
