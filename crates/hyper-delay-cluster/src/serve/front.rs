//! The way from the threads of the shards to the serving nodes.

use std::sync::{Arc, OnceLock, mpsc::Sender};

use super::{Mail, News};
use crate::{
    ShardId,
    forward::wire::ToServing,
    link::peers::Peers,
    log::Member,
    merged::Merged,
    node::{Front, Told},
    shard::PeerId,
};
use hyper_delay_fjall::Embedded;

/// The forwarder of this node, as the leaders on it know it.
pub(super) const OWN: PeerId = PeerId(0);

/// Sends messages to other nodes over their links, and everything else to the forwarder.
#[derive(Debug, Clone)]
pub(super) struct ToForwarder {
    pub(super) mail: Sender<Mail>,
    pub(super) peers: Arc<Peers>,
    /// What is read of all shards.
    pub(super) store: Arc<OnceLock<Arc<Merged<Embedded>>>>,
}

impl Front for ToForwarder {
    fn told(&mut self, shard: ShardId, told: Told) {
        let told = match told {
            Told::Peers(told) => {
                let (own, others): (Vec<_>, Vec<_>) =
                    told.into_iter().partition(|(peer, _)| *peer == OWN);
                if !others.is_empty() {
                    self.peers.send(shard, &others);
                }
                let own: Vec<ToServing> = own.into_iter().map(|(_, message)| message).collect();
                if own.is_empty() {
                    return;
                }
                News::OfLeader(shard, own)
            }
            Told::Leader(leader) => News::Leader(shard, leader),
            Told::Applied(seq) => News::Applied(shard, seq),
            Told::Replaced(replica) => {
                // Snapshots are fetched once the store is there.
                if let Some(store) = self.store.get() {
                    store.replace(shard, replica);
                }
                News::Follows(shard, true)
            }
            Told::Stopped => News::Follows(shard, false),
            #[cfg(test)]
            Told::Messages(..) | Told::Leads(_) => return,
        };
        // The forwarder is gone when the node ends.
        let _ = self.mail.send(Mail::News(told));
    }

    fn members(&mut self, members: &Arc<[Member]>) {
        let news = News::Members(members.clone());
        let _ = self.mail.send(Mail::News(news));
    }
}
