//! Notices from the shards of a node to the part that serves its clients.

use std::sync::{Arc, mpsc::Sender};

use crate::{
    ShardId,
    forward::wire::ToServing,
    log::{Leader, Member},
    shard::PeerId,
};
#[cfg(test)]
use crate::{log::Fence, shard::LeadershipChange};
#[cfg(test)]
use hyper_delay_engine::scheduler::{ConsumerId, SchedulerMessage};
use hyper_delay_fjall::Embedded;

/// A notice from a shard of this node.
#[derive(Debug)]
pub(crate) enum ShardNotice {
    /// Messages to serving nodes, in this order for each.
    Peers(Vec<(PeerId, ToServing)>),
    /// Messages to consumers of no serving node, from this leadership of this node, in this order
    /// for each consumer.
    #[cfg(test)]
    Messages(Fence, Vec<(ConsumerId, SchedulerMessage)>),
    /// This node leads the shard from now on, or does not any more.
    #[cfg(test)]
    LeadershipChanged(LeadershipChange),
    /// The leader of the shard, as far as this node knows.
    Leader(Option<Leader>),
    /// Everything up to this entry is in the store of this node. What a message refers to is
    /// applied before it.
    Applied(u64),
    /// The shard does nothing on this node, unless its replica is replaced.
    Stopped,
    /// This is the replica of this node from now on. If it contains less than the one before,
    /// `Applied` comes first.
    Replaced(Arc<Embedded>),
}

/// Receives the notices of all shards of a node.
///
/// A trait, so that the threads of the shards do not depend on how the forwarder receives them.
/// Each of them has a clone. The notices of one shard come in order. The call must not block.
pub(crate) trait ShardObserver: Clone + Send + 'static {
    /// Something has happened.
    fn notify(&mut self, shard: ShardId, notice: ShardNotice);

    /// The cluster has these nodes.
    fn set_members(&mut self, members: &Arc<[Member]>) {
        let _ = members;
    }
}

impl ShardObserver for Sender<(ShardId, ShardNotice)> {
    fn notify(&mut self, shard: ShardId, notice: ShardNotice) {
        // The receiver is gone when the node ends.
        let _ = self.send((shard, notice));
    }
}
