//! The links of a node: other nodes get snapshots over them.

use std::sync::Arc;

use tokio::task::AbortHandle;

use super::fixture;
use crate::{
    Charter,
    link::{Endpoint, LinkSetup, clocks::Clocks, listener::LinkListener, peers::Peers},
    log::Member,
    node::Node,
};
use hyper_delay_engine::clock::Clock;

/// The listener of a node, which serves nobody yet.
pub(super) struct Bound {
    pub(super) member: Member,
    charter: Charter,
    endpoint: Arc<Endpoint>,
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
        let endpoint = Endpoint::new(setup, Clocks::new(Clock::new(), |_| {}));
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

    pub(super) fn serve(self, running: &Node) -> Link {
        let listener = self.listener.giving(running.giver());
        running.fetch_over(self.endpoint);
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
