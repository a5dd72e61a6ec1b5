//! The links of a node, and how they reach its shards.

use std::sync::{Arc, OnceLock};

use super::ServingError;
use crate::{
    link::{
        LinkEndpoint, LinkSetup, listener::LinkListener, peer_clocks::PeerClocks, peers::Peers,
    },
    log::Member,
    node::ShardHandle,
    shard::ShardEvent,
};
use hyper_delay_config::{Cluster, Config};
use hyper_delay_engine::clock::Clock;

/// The handles of the shards, once they exist.
pub(super) type LateShards = Arc<OnceLock<Arc<[ShardHandle]>>>;

/// The links of a node. No link is accepted before the listener runs.
pub(super) struct NodeLinks {
    pub(super) endpoint: Arc<LinkEndpoint>,
    pub(super) listener: LinkListener,
    pub(super) peers: Arc<Peers>,
    /// Set by the caller: events of links reach the shards from then on.
    pub(super) shards: LateShards,
}

impl NodeLinks {
    /// Binds the address for links.
    ///
    /// # Errors
    ///
    /// If the address cannot be used.
    pub(super) async fn bind(
        setup: LinkSetup,
        members: &[Member],
        cluster: &Cluster,
        config: &Config,
        clock: Clock,
    ) -> Result<Self, ServingError> {
        let (charter, node) = (setup.charter, setup.node.clone());
        let shards = LateShards::default();
        let endpoint = LinkEndpoint::new(setup, clocks_for(shards.clone(), clock));
        endpoint.missing_links().add_members(members, &node);
        let listener = LinkListener::bind(endpoint.clone(), cluster.bind_addr, config.open).await?;
        let peers = peers_for(shards.clone(), charter.shards);
        Ok(Self {
            endpoint,
            listener,
            peers,
            shards,
        })
    }
}

/// Returns the clocks of the other nodes, which notify the shards when that of this node is wrong.
fn clocks_for(shards: LateShards, clock: Clock) -> Arc<PeerClocks> {
    PeerClocks::new(clock, move |is_off| {
        for shard in shards.get().into_iter().flat_map(|shards| shards.iter()) {
            shard.event(ShardEvent::ClockIsOff(is_off));
        }
    })
}

/// Returns the links of other nodes, whose events reach the shards.
fn peers_for(shards: LateShards, number: u16) -> Arc<Peers> {
    Peers::new(number, move |shard, event| {
        // No link is accepted before the shards are there.
        if let Some(shards) = shards.get() {
            shards[usize::from(shard.0)].event(event);
        }
    })
}
