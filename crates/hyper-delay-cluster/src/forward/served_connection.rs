//! What the sessions with leaders know of a connection.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use super::{deliveries::ServedDelivery, wire::ToLeader};
use crate::ShardId;

/// A connection of a client, beside what the front has of it.
#[derive(Debug, Default)]
pub(super) struct ServedConnection {
    /// The shards whose leaders know it.
    opened: BTreeSet<ShardId>,
    /// Deliveries that were given back or not sent and whose leader may not know this, with
    /// the message to it, the latest last. As many as of the late ones are remembered.
    deferred: VecDeque<DeferredOutcome>,
}

/// A delivery whose outcome its leader may not know, with the message to it.
pub(super) type DeferredOutcome = (Arc<str>, ServedDelivery, ToLeader);

impl ServedConnection {
    /// The leader of a shard knows it from now on. Returns whether that is news.
    pub(super) fn open_at(&mut self, shard: ShardId) -> bool {
        self.opened.insert(shard)
    }

    /// The leader of a shard is gone. Returns whether it knew the connection.
    pub(super) fn close_at(&mut self, shard: ShardId) -> bool {
        self.opened.remove(&shard)
    }

    /// Whether the leader of a shard knows it.
    pub(super) fn is_open_at(&self, shard: ShardId) -> bool {
        self.opened.contains(&shard)
    }

    /// The shards whose leaders know it.
    pub(super) const fn opened(&self) -> &BTreeSet<ShardId> {
        &self.opened
    }

    /// Keeps the outcome of a delivery for its leader, which cannot be reached now: the latest
    /// `limit` of them.
    pub(super) fn defer(&mut self, outcome: DeferredOutcome, limit: usize) {
        if self.deferred.len() >= limit {
            self.deferred.pop_front();
        }
        self.deferred.push_back(outcome);
    }

    /// There is a session with a leadership: removes and returns messages that it, or another
    /// leadership of the shard, did not get. Those that only concern the other one are dropped.
    pub(super) fn take_deferred(&mut self, shard: ShardId, epoch: u64) -> Vec<DeferredOutcome> {
        let of_shard = |(_, delivered, _): &DeferredOutcome| delivered.origin.shard == shard;
        let (of_shard, others): (VecDeque<_>, _) = std::mem::take(&mut self.deferred)
            .into_iter()
            .partition(of_shard);
        self.deferred = others;
        let concerns_it = |(_, delivered, message): &DeferredOutcome| {
            delivered.origin.epoch == epoch || matches!(message, ToLeader::Nacked { .. })
        };
        of_shard.into_iter().filter(concerns_it).collect()
    }
}
