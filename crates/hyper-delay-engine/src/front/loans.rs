//! The credit of connections, as loans to the schedulers of the shards.

use race_wheel::Tick;

use super::{Front, LoanChange, Origin};
use crate::{
    scheduler::{ConsumerId, CreditChange},
    shard::ShardId,
};

impl<O: Origin> Front<O> {
    /// The scheduler of a shard knows a connection, whose deliveries in flight use this much. Returns
    /// what it is lent, and what of that it is to return.
    pub fn begin_loan(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        used: u16,
    ) -> Vec<LoanChange> {
        let connection = self.connections.get_mut(&consumer);
        connection.map_or_else(Vec::new, |it| it.loans.open(shard, used))
    }

    /// The scheduler of a shard takes part in the credit of a connection, if it does not yet.
    pub fn begin_loan_once(&mut self, consumer: ConsumerId, shard: ShardId) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.loans.open_once(shard);
        }
    }

    /// The scheduler of a shard takes no part any more.
    pub fn remove_loan(&mut self, consumer: ConsumerId, shard: ShardId) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.loans.remove(shard);
        }
    }

    /// Everything that a shard was lent is recalled.
    pub fn retire(&mut self, consumer: ConsumerId, shard: ShardId) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.loans.retire(shard);
        }
    }

    /// A scheduler wants credit for a connection, or returns some.
    pub fn credit_changed(&mut self, consumer: ConsumerId, shard: ShardId, change: CreditChange) {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        match change {
            CreditChange::Wanted => connection.loans.set_wanting(shard),
            CreditChange::Unwanted => connection.loans.clear_wanting(shard),
            CreditChange::Returned(credit) => connection.loans.returned(shard, credit),
        }
    }

    /// Returns what the schedulers are lent, and what they are to return.
    pub fn balance(&mut self, consumer: ConsumerId) -> Vec<LoanChange> {
        let connection = self.connections.get_mut(&consumer);
        connection.map_or_else(Vec::new, |connection| connection.loans.balance())
    }

    /// Returns how many deliveries of this kind a connection can answer in time.
    #[must_use]
    pub fn used(&self, consumer: ConsumerId, now: Tick, is_it: impl Fn(&O) -> bool) -> u16 {
        let connection = self.connections.get(&consumer);
        connection.map_or(0, |connection| connection.used(now, is_it))
    }

    /// The scheduler of a shard is not known any more: of its loan, only what is `used` counts.
    pub fn close_loan(&mut self, consumer: ConsumerId, shard: ShardId, used: u16) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.loans.close(shard, used);
        }
    }

    /// What a connection has in flight of a shard whose scheduler is not known counts for its credit.
    /// Returns whether that has changed.
    pub fn recount(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        now: Tick,
        is_it: impl Fn(&O) -> bool,
    ) -> bool {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return false;
        };
        connection.loans.is_closed(shard) && {
            let used = connection.used(now, is_it);
            connection.loans.set_used(shard, used)
        }
    }
}
