//! Passes notices of the shards' threads to the forwarder, and messages to other nodes.

use std::sync::{Arc, OnceLock, mpsc::Sender};

use super::{ClusterEvent, ForwarderMessage};
use crate::{
    ShardId,
    forward::wire::ToServing,
    link::peers::Peers,
    log::Member,
    merged::MergedStore,
    node::{ShardNotice, ShardObserver},
    shard::PeerId,
};
use hyper_delay_fjall::Embedded;

/// The forwarder of this node, as the leaders on it know it.
pub(super) const OWN: PeerId = PeerId(0);

/// Sends messages to other nodes over their links, and everything else to the forwarder.
#[derive(Debug, Clone)]
pub(super) struct ToForwarder {
    pub(super) messages: Sender<ForwarderMessage>,
    pub(super) peers: Arc<Peers>,
    /// The store of all shards, for reads.
    pub(super) store: Arc<OnceLock<Arc<MergedStore<Embedded>>>>,
}

impl ShardObserver for ToForwarder {
    fn notify(&mut self, shard: ShardId, notice: ShardNotice) {
        let event = match notice {
            ShardNotice::Peers(messages) => {
                let (own, others): (Vec<_>, Vec<_>) =
                    messages.into_iter().partition(|(peer, _)| *peer == OWN);
                if !others.is_empty() {
                    self.peers.send(shard, &others);
                }
                let own: Vec<ToServing> = own.into_iter().map(|(_, message)| message).collect();
                if own.is_empty() {
                    return;
                }
                ClusterEvent::OfLeader(shard, own)
            }
            ShardNotice::Leader(leader) => ClusterEvent::Leader(shard, leader),
            ShardNotice::Applied(seq) => ClusterEvent::Applied(shard, seq),
            ShardNotice::Replaced(replica) => {
                // Snapshots are fetched once the store is there.
                if let Some(store) = self.store.get() {
                    store.replace(shard, replica);
                }
                ClusterEvent::Follows(shard, true)
            }
            ShardNotice::Stopped => ClusterEvent::Follows(shard, false),
            #[cfg(test)]
            ShardNotice::Messages(..) | ShardNotice::LeadershipChanged(_) => return,
        };
        // The forwarder is gone when the node ends.
        let _ = self.messages.send(ForwarderMessage::Cluster(event));
    }

    fn set_members(&mut self, members: &Arc<[Member]>) {
        let event = ClusterEvent::Members(members.clone());
        let _ = self.messages.send(ForwarderMessage::Cluster(event));
    }
}
