//! Lends leaders the credit of connections, and takes it back.

use super::{Forwarder, credit::LoanChange, leader_session::TaskContents, wire::ToLeader};
use crate::{ShardId, shard_of};
use hyper_delay_engine::scheduler::ConsumerId;

impl Forwarder {
    /// Lends the connections' credit to a new leader: what they have in flight uses it already.
    pub(super) fn lend_to(&mut self, shard: ShardId) {
        let shards = self.setup.shards;
        let session = self.session(shard);
        let is_here = session.contents == TaskContents::Available;
        if let Some(active) = session.active_mut() {
            active.lends = is_here;
        }
        if !is_here {
            return;
        }
        let mut lent = Vec::new();
        for (consumer, connection) in &mut self.connections {
            if !connection.is_closing && connection.opened.contains(&shard) {
                let used = connection.used(shard, self.now.monotonic);
                let credit = connection.loans.open(shard, used);
                let mut routes = connection.routes().keys();
                if !routes.any(|route| shard_of(route, shards) == shard) {
                    connection.loans.retire(shard);
                }
                lent.push((*consumer, credit));
            }
        }
        for (consumer, credit) in lent {
            if credit > 0 {
                self.send(shard, ToLeader::Lent(consumer, credit));
            }
            self.balance(consumer);
        }
    }

    /// The time of deliveries passes while there is no session: their credit is free again.
    pub(super) fn recount_used(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let mut freed = Vec::new();
        for (consumer, connection) in &mut self.connections {
            if connection.count_used(shard, now) {
                freed.push(*consumer);
            }
        }
        for consumer in freed {
            self.balance(consumer);
        }
    }

    /// Carries out the changes of what a connection lends.
    pub(super) fn balance(&mut self, consumer: ConsumerId) {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        for change in connection.loans.balance() {
            match change {
                LoanChange::Lend(shard, credit) => {
                    self.send(shard, ToLeader::Lent(consumer, credit));
                }
                LoanChange::Recall(shard, credit) => {
                    self.send(shard, ToLeader::Recalled(consumer, credit));
                }
            }
        }
    }
}
