//! The links of a node: other nodes get snapshots over them.

use std::sync::Arc;

use tokio::task::AbortHandle;

use super::fixture;
use crate::{
    Charter,
    link::{
        LinkEndpoint, LinkSetup, listener::LinkListener, peer_clocks::PeerClocks, peers::Peers,
    },
    log::Member,
    node::ClusterNode,
};
use hyper_delay_engine::clock::Clock;

/// The listener of a node, which serves no one yet.
pub(super) struct Bound {
    pub(super) member: Member,
    charter: Charter,
    endpoint: Arc<LinkEndpoint>,
    listener: LinkListener,
}

impl Bound {
    pub(super) async fn new(charter: Charter, node: usize) -> Self {
        let setup = LinkSetup {
            charter,
            node: fixture::member(node).node,
            tls: None,
            most_waiting: 1 << 20,
            silence: fixture::PATIENCE,
        };
        let endpoint = LinkEndpoint::new(setup, PeerClocks::new(Clock::new(), |_| {}));
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = LinkListener::bind(endpoint.clone(), any, false).await;
        let listener = listener.unwrap();
        let member = Member {
            address: listener.address().unwrap().to_string().into(),
            ..fixture::member(node)
        };
        Self {
            member,
            charter,
            endpoint,
            listener,
        }
    }

    pub(super) fn serve(self, running: &ClusterNode) -> Link {
        let listener = self.listener.with_snapshots(running.snapshot_provider());
        running.set_endpoint(self.endpoint);
        let peers = Peers::new(self.charter.shards, |_, _| {});
        Link {
            listener: tokio::spawn(listener.run(peers)).abort_handle(),
        }
    }
}

/// The listener of a node. It ends with the node.
pub(super) struct Link {
    pub(super) listener: AbortHandle,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
