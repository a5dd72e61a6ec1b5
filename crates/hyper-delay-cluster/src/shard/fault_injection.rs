//! Hooks of the simulation to plant faults in a shard.

use super::{PeerId, Shard, leader_state::open_ledger};
use crate::{
    forward::wire::{LeaderQuery, LeaderQueryAnswer},
    shard_of,
};
use hyper_delay_engine::{ledger::Ledger, scheduler::ConsumerId};
use hyper_delay_store::{Store, fake::Fake};

/// The ledger with which a shard began to lead, and in which leadership.
#[derive(Debug, Default)]
pub(crate) struct SavedLedger(Option<(u64, Ledger<Fake>)>);

impl<S: Store> Shard<S> {
    /// Applies an entry, whether it is the next one or not.
    pub(crate) fn apply_unchecked(&mut self, seq: u64, bytes: &[u8]) {
        let applied = self.replica.apply_unchecked(seq, bytes);
        applied.expect("the disk works");
    }

    /// Gives up an append that was not answered, as if it had failed.
    pub(crate) fn forget_unanswered(&mut self) {
        if let Some(leading) = &mut self.leading {
            leading.commits().forget_unanswered();
        }
    }

    /// Returns whether a route of this shard has consumers. `None`: this node does not lead the shard, or
    /// not all of the `nodes` have told it of their connections.
    pub(crate) fn has_consumers(&self, route: &str, shards: u16, nodes: usize) -> Option<bool> {
        let is_of_it = shard_of(route, shards) == self.setup.shard;
        let leading = self.leading.as_ref().filter(|_| is_of_it)?;
        if self.serving_nodes.ready_nodes() < nodes {
            return None;
        }
        let query = LeaderQuery::HasConsumers(route.into());
        let answer = leading.answer_query(query, self.applied());
        Some(matches!(answer, LeaderQueryAnswer::HasConsumers(true)))
    }

    /// Returns whether a consumer has a copy of a task.
    pub(crate) fn has_in_flight(&self, peer: PeerId, there: ConsumerId, seq: u64) -> bool {
        let known = self
            .serving_nodes
            .consumer_of(peer, there)
            .zip(self.leading.as_ref());
        known.is_some_and(|(consumer, leading)| {
            let copies = leading.copies_of(consumer);
            copies.iter().any(|copy| copy.seq == seq)
        })
    }
}

impl Shard<Fake> {
    /// If a leadership has just begun, it gets the ledger of the last one, as it began.
    pub(crate) fn exchange_ledger(&mut self, kept: &mut SavedLedger) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let epoch = leading.fence().epoch;
        let is_new = leading.commits().is_new();
        if !is_new || kept.0.as_ref().is_some_and(|(last, _)| *last == epoch) {
            return;
        }
        let fresh = open_ledger(&self.replica, &self.setup).expect("the disk is whole");
        if let Some((_, old)) = kept.0.replace((epoch, fresh)) {
            leading.commits().set_ledger(old);
        }
    }
}
