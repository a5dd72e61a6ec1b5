//! What the sessions with leaders know of the connections, beside what the front has of them.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::{deliveries::ServedDelivery, wire::ToLeader};
use crate::ShardId;
use hyper_delay_engine::scheduler::ConsumerId;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct ServedConnections {
    by_consumer: BTreeMap<ConsumerId, ServedConnection>,
}

/// A connection of a client.
#[derive(Debug, Default)]
struct ServedConnection {
    /// The shards whose leaders know it.
    opened: BTreeSet<ShardId>,
    /// Deliveries that were given back or not sent and whose leader may not know this, with
    /// the message to it, the latest last. As many as of the late ones are remembered.
    deferred: VecDeque<DeferredOutcome>,
}

/// A delivery whose outcome its leader may not know, with the message to it.
pub(super) type DeferredOutcome = (Arc<str>, ServedDelivery, ToLeader);

impl ServedConnections {
    /// A connection is open. No leader knows it.
    pub(super) fn open(&mut self, consumer: ConsumerId) {
        let served = ServedConnection::default();
        self.by_consumer.insert(consumer, served);
    }

    /// A connection is closed. Returns the shards whose leaders know it.
    pub(super) fn close(&mut self, consumer: ConsumerId) -> BTreeSet<ShardId> {
        let served = self.by_consumer.remove(&consumer);
        served.map(|served| served.opened).unwrap_or_default()
    }

    pub(super) fn consumers(&self) -> impl Iterator<Item = ConsumerId> {
        self.by_consumer.keys().copied()
    }

    /// Returns the shards whose leaders know a connection.
    pub(super) fn shards_of(&self, consumer: ConsumerId) -> BTreeSet<ShardId> {
        let served = self.by_consumer.get(&consumer);
        served.map(|it| it.opened.clone()).unwrap_or_default()
    }

    /// Returns whether the leader of a shard knows a connection.
    pub(super) fn is_known_at(&self, consumer: ConsumerId, shard: ShardId) -> bool {
        let served = self.by_consumer.get(&consumer);
        served.is_some_and(|served| served.opened.contains(&shard))
    }

    /// Returns the connections that the leader of a shard knows.
    pub(super) fn known_at(&self, shard: ShardId) -> Vec<ConsumerId> {
        let served = self.by_consumer.iter();
        let known = served.filter(|(_, served)| served.opened.contains(&shard));
        known.map(|(consumer, _)| *consumer).collect()
    }

    /// The leader of a shard knows a connection from now on. Returns whether that is news. `None`:
    /// the connection is closed.
    pub(super) fn open_at(&mut self, consumer: ConsumerId, shard: ShardId) -> Option<bool> {
        let served = self.by_consumer.get_mut(&consumer)?;
        Some(served.opened.insert(shard))
    }

    /// The leader of a shard is gone. Returns the connections that it knew.
    pub(super) fn close_at(&mut self, shard: ShardId) -> Vec<ConsumerId> {
        let served = self.by_consumer.iter_mut();
        let known = served.filter_map(|(consumer, served)| {
            let was_known = served.opened.remove(&shard);
            was_known.then_some(*consumer)
        });
        known.collect()
    }

    /// Keeps the outcome of a delivery for its leader, which cannot be reached now: the latest
    /// `limit` of a connection.
    pub(super) fn defer(&mut self, consumer: ConsumerId, outcome: DeferredOutcome, limit: usize) {
        let Some(served) = self.by_consumer.get_mut(&consumer) else {
            return;
        };
        if served.deferred.len() >= limit {
            served.deferred.pop_front();
        }
        served.deferred.push_back(outcome);
    }

    /// There is a session with a leadership: removes and returns messages about a connection that
    /// it, or another leadership of the shard, did not get. Those that only concern the other one
    /// are dropped.
    pub(super) fn take_deferred(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        epoch: u64,
    ) -> Vec<DeferredOutcome> {
        let Some(served) = self.by_consumer.get_mut(&consumer) else {
            return Vec::new();
        };
        let of_shard = |(_, delivered, _): &DeferredOutcome| delivered.origin.shard == shard;
        let (of_shard, others): (VecDeque<_>, _) = std::mem::take(&mut served.deferred)
            .into_iter()
            .partition(of_shard);
        served.deferred = others;
        let concerns_it = |(_, delivered, message): &DeferredOutcome| {
            delivered.origin.epoch == epoch || matches!(message, ToLeader::Nacked { .. })
        };
        of_shard.into_iter().filter(concerns_it).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::{
        deliveries::void_message,
        samples::{active, copy},
    };

    const CLIENT: ConsumerId = 5;

    fn connections() -> ServedConnections {
        let mut connections = ServedConnections::default();
        connections.open(CLIENT);
        connections.open(CLIENT + 1);
        connections
    }

    /// A delivery of a leadership of shard 3, which was given back or not sent.
    fn outcome(seq: u64, epoch: u64, is_nacked: bool) -> DeferredOutcome {
        let delivered = active(epoch, 0).delivered(&copy(seq, 0));
        let id: Arc<str> = "x".into();
        let message = match is_nacked {
            true => ToLeader::Nacked {
                consumer: CLIENT,
                named: delivered.name(id.clone()).into(),
                seq,
                delay_ms: None,
                reason: None,
                failed: true,
            },
            false => void_message(&delivered, CLIENT, id.clone()),
        };
        (id, delivered, message)
    }

    fn seqs(outcomes: &[DeferredOutcome]) -> Vec<u64> {
        outcomes.iter().map(|(_, it, _)| it.seq).collect()
    }

    #[test]
    fn a_leader_knows_a_connection_until_either_is_gone() {
        let [first, second] = [1, 2].map(ShardId);
        let mut connections = connections();
        assert_eq!(connections.open_at(CLIENT, first), Some(true));
        assert_eq!(connections.open_at(CLIENT, first), Some(false));
        assert_eq!(connections.open_at(CLIENT + 1, first), Some(true));
        assert_eq!(connections.open_at(CLIENT, second), Some(true));
        assert_eq!(connections.known_at(first), [CLIENT, CLIENT + 1]);
        assert_eq!(connections.close_at(first), [CLIENT, CLIENT + 1]);
        assert_eq!(connections.known_at(first), [0; 0]);
        assert_eq!(connections.shards_of(CLIENT), BTreeSet::from([second]));
        assert_eq!(connections.close(CLIENT), BTreeSet::from([second]));
        assert_eq!(connections.open_at(CLIENT, second), None);
        assert_eq!(connections.consumers().collect::<Vec<_>>(), [CLIENT + 1]);
    }

    #[test]
    fn the_latest_outcomes_are_remembered() {
        let mut connections = connections();
        for seq in 1..=4 {
            connections.defer(CLIENT, outcome(seq, 7, false), 2);
        }
        let left = connections.take_deferred(CLIENT, ShardId(3), 7);
        assert_eq!(seqs(&left), [3, 4]);
    }

    #[test]
    fn another_leadership_gets_only_what_was_given_back() {
        let mut connections = connections();
        for (seq, epoch, is_nacked) in [(1, 7, false), (2, 7, true), (3, 8, false)] {
            connections.defer(CLIENT, outcome(seq, epoch, is_nacked), 9);
        }
        assert_eq!(
            seqs(&connections.take_deferred(CLIENT, ShardId(2), 8)),
            [0; 0]
        );
        let taken = connections.take_deferred(CLIENT, ShardId(3), 8);
        assert_eq!(seqs(&taken), [2, 3]);
        assert!(connections.take_deferred(CLIENT, ShardId(3), 7).is_empty());
    }
}
