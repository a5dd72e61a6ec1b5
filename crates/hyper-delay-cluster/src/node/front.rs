//! What the shards of a node tell the part that serves its clients.

use std::sync::{Arc, mpsc::Sender};

use crate::{
    ShardId,
    forward::wire::ToServing,
    log::{Leader, Member},
    shard::PeerId,
};
#[cfg(test)]
use crate::{log::Fence, shard::Leadership};
#[cfg(test)]
use hyper_delay_engine::scheduler::{ConsumerId, Message};
use hyper_delay_fjall::Embedded;

/// News of a shard of this node.
#[derive(Debug)]
pub(crate) enum Told {
    /// Messages to serving nodes, in this order for each.
    Peers(Vec<(PeerId, ToServing)>),
    /// Messages to consumers of no serving node, from this leadership of this node, in this order
    /// for each consumer.
    #[cfg(test)]
    Messages(Fence, Vec<(ConsumerId, Message)>),
    /// This node leads the shard from now on, or does not any more.
    #[cfg(test)]
    Leads(Leadership),
    /// Who leads the shard, as far as this node knows.
    Leader(Option<Leader>),
    /// Everything up to this entry is in the store of this node. What a message refers to is
    /// applied before it.
    Applied(u64),
    /// The shard does nothing on this node, unless its replica is replaced.
    Stopped,
    /// This is the replica of this node from now on. If it contains less than the one before,
    /// that is told first.
    Replaced(Arc<Embedded>),
}

/// Takes the news of all shards of a node.
///
/// A trait, so that the threads of the shards do not depend on how the forwarder receives them.
/// Each of them has a clone. The news of one shard come in their order. The call must not block.
pub(crate) trait Front: Clone + Send + 'static {
    /// Something has happened.
    fn told(&mut self, shard: ShardId, told: Told);

    /// The cluster has these nodes.
    fn members(&mut self, members: &Arc<[Member]>) {
        let _ = members;
    }
}

impl Front for Sender<(ShardId, Told)> {
    fn told(&mut self, shard: ShardId, told: Told) {
        // The receiver is gone when the node ends.
        let _ = self.send((shard, told));
    }
}
