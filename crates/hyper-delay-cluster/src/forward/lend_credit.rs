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
            let changes = self.front.begin_loan(consumer, shard, used);
            self.send_loan_changes(consumer, changes);
            if !self.front.has_route_of(consumer, shard) {
                self.front.retire(consumer, shard);
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

    /// Lends what is free of the credit of a connection, and recalls what others need.
    pub(super) fn balance(&mut self, consumer: ConsumerId) {
        let changes = self.front.balance(consumer);
        self.send_loan_changes(consumer, changes);
    }

    fn send_loan_changes(&mut self, consumer: ConsumerId, changes: Vec<LoanChange>) {
        for change in changes {
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
