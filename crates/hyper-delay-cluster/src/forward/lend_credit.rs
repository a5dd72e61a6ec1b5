//! Lends leaders the credit of connections, and takes it back.

use super::{Forwarder, wire::ToLeader};
use crate::ShardId;
use hyper_delay_engine::{front::LoanChange, scheduler::ConsumerId};

impl Forwarder {
    /// Lends the connections' credit to a new leader: what they have in flight uses it already.
    pub(super) fn lend_to(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        if !self.contents[shard].are_available() {
            return;
        }
        self.session(shard).start_lending();
        for consumer in self.served.known_at(shard) {
            if self.front.is_closing(consumer) {
                continue;
            }
            let used = self.front.used(consumer, now, |it| it.shard == shard);
            let credit = self.front.begin_loan(consumer, shard, used);
            if !self.front.has_route_of(consumer, shard) {
                self.front.retire(consumer, shard);
            }
            if credit > 0 {
                self.send(shard, ToLeader::Lent(consumer, credit));
            }
            self.balance(consumer);
        }
    }

    /// The time of deliveries passes while there is no session: their credit is free again.
    pub(super) fn recount_used(&mut self, shard: ShardId) {
        let connections: Vec<ConsumerId> = self.front.connections().collect();
        for consumer in connections {
            if self.recount(consumer, shard) {
                self.balance(consumer);
            }
        }
    }

    /// What a connection has in flight of a shard without a leader counts for its credit. Returns
    /// whether that has changed.
    pub(super) fn recount(&mut self, consumer: ConsumerId, shard: ShardId) -> bool {
        let now = self.now.monotonic;
        self.front
            .recount(consumer, shard, now, |it| it.shard == shard)
    }

    /// Carries out the changes of what a connection lends.
    pub(super) fn balance(&mut self, consumer: ConsumerId) {
        for change in self.front.balance(consumer) {
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
