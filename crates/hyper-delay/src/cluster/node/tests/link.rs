//! The links of a node: other nodes get snapshots over them.

use tokio::task::AbortHandle;

use super::fixture;
use crate::{
    clock::Clock,
    cluster::{
        Charter,
        link::{Endpoint, LinkSetup, clocks::Clocks, listener::LinkListener, peers::Peers},
        log::Member,
        node::Node,
    },
};

/// The listener of a node. It ends with the node.
pub(super) struct Link {
    pub(super) member: Member,
    pub(super) listener: AbortHandle,
}

impl Link {
    pub(super) async fn new(charter: Charter, node: usize, running: &Node) -> Self {
        let setup = LinkSetup {
            charter,
            node: fixture::member(node).node,
            tls: None,
            most_waiting: 1 << 20,
            silence: fixture::PATIENCE,
        };
        let endpoint = Endpoint::new(setup, Clocks::new(Clock::new(), |_| {}));
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = LinkListener::bind(endpoint.clone(), any, false).await;
        let listener = listener.unwrap().giving(running.giver());
        let member = Member {
            address: listener.address().unwrap().to_string().into(),
            ..fixture::member(node)
        };
        running.fetch_over(endpoint);
        let peers = Peers::new(charter.shards, |_, _| {});
        Self {
            member,
            listener: tokio::spawn(listener.run(peers)).abort_handle(),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
