//! The deliveries of leaders to the clients of this node.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::wire::{ToLeader, UnsentDelivery};
use crate::ShardId;
use hyper_delay_engine::{
    authority::Authority,
    front::{Delivery, Origin},
    scheduler::{ConsumerId, UnansweredDelivery, UnsentReason},
};

/// A delivery to a client.
pub(super) type ServedDelivery = Delivery<LeaderCopy>;

/// What its leader and this node know of a delivery, beside its name and its time.
#[derive(Debug, Clone)]
pub(crate) struct LeaderCopy {
    pub(super) shard: ShardId,
    /// The leadership that counts it as in flight.
    pub(super) epoch: u64,
    /// The end of the time to answer on the clock of the leader.
    pub(super) until_at_leader: Tick,
    /// When the task expires, on this node's clock.
    pub(super) expires: Option<Tick>,
    /// It may be written while this holds.
    pub(super) authority: Arc<Authority>,
}

impl Origin for LeaderCopy {
    fn is_revoked(&self) -> bool {
        self.authority.is_revoked()
    }

    /// The leader finds out by its own clock.
    fn has_expired(&self, now: Tick) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

/// Returns the report of a delivery to another leader, or to the same one in a later session.
pub(super) fn adopted(delivered: &ServedDelivery, id: &Arc<str>, now: Tick) -> UnansweredDelivery {
    UnansweredDelivery {
        route: delivered.route.clone(),
        id: id.clone(),
        seq: delivered.seq,
        attempt: delivered.attempt,
        left: Duration::from_nanos(delivered.until.since(now)),
    }
}

/// Returns the message to the leader of a delivery that was not passed to its connection, and will
/// not be.
pub(super) fn void_message(
    delivered: &ServedDelivery,
    consumer: ConsumerId,
    id: Arc<str>,
) -> ToLeader {
    let attempt = delivered.attempt;
    unsent_message(delivered, consumer, id, UnsentReason::Void { attempt })
}

/// Returns the message to the leader of a delivery that has waited for its turn too long.
pub(super) fn unwritten_message(
    delivered: &ServedDelivery,
    consumer: ConsumerId,
    id: Arc<str>,
) -> ToLeader {
    let attempt = delivered.attempt;
    unsent_message(delivered, consumer, id, UnsentReason::Unwritten { attempt })
}

fn unsent_message(
    delivered: &ServedDelivery,
    consumer: ConsumerId,
    id: Arc<str>,
    why: UnsentReason,
) -> ToLeader {
    let seq = delivered.seq;
    ToLeader::NotSent(consumer, UnsentDelivery { seq, id, why })
}
