//! Links between nodes: messages about the connections of clients, over TCP.
//!
//! A serving node has one link to each node that leads shards
//! (`OutgoingLinks`). The leading node accepts it
//! (`LinkListener`), and knows it by a number
//! (`Peers`). A link carries the messages of all shards, in order in each
//! direction, and nothing is sent twice: what is on its way when a link breaks is lost, and both
//! sides are notified.
//!
//! ```text
//! forwarder ──▶ LinkOutboxes ──▶ ToLeader ──▶ Peers ──▶ threads of the shards
//!           ◀── LinkEvent    ◀── ToServing ◀──       ◀──
//! ```
//!
//! # Backpressure
//!
//! The threads of the forwarder and of the shards append to a
//! `LinkOutbox`, and a task writes it to the socket. The requests in flight
//! bound it; if the other side does not read, the link is cut at a limit.
//!
//! # Snapshots
//!
//! The port of the links also serves snapshots of shards: the handshake says what the side that
//! calls wants. A connection carries one snapshot, and ends with it (`snapshot_chunk`).
//!
//! # Clocks
//!
//! Over every link both sides ask for the time of the other one (`PeerClocks`).

mod addresses;
pub(crate) mod error;
pub(crate) mod fetch_snapshot;
mod frame;
mod handshake;
mod link_session;
pub(crate) mod listener;
pub(crate) mod missing_links;
pub(crate) mod outbox;
pub(crate) mod outboxes;
pub(crate) mod outgoing_links;
pub(crate) mod peer_clocks;
pub(crate) mod peers;
pub(crate) mod receive_snapshot;
mod send_snapshot;
mod snapshot_chunk;
pub mod tls;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{net::TcpStream, time::timeout};

use super::{Charter, log::NodeName};
use error::LinkError;
use handshake::{HandshakeSide, LinkIncarnation, LinkPurpose};
use hyper_delay_server::connection;
use missing_links::MissingLinks;
use peer_clocks::PeerClocks;
use tls::LinkTls;

/// The configuration of the links of a node.
#[derive(Debug, Clone)]
pub(crate) struct LinkSetup {
    /// The cluster.
    pub(crate) charter: Charter,
    /// This node.
    pub(crate) node: NodeName,
    /// The certificates. `None`: links are plain.
    pub(crate) tls: Option<LinkTls>,
    /// A link is cut when more bytes wait to be written to it.
    pub(crate) most_waiting: usize,
    /// A link is broken if the other side acknowledges nothing for this long.
    pub(crate) silence: Duration,
}

/// The end of all links on this node.
#[derive(Debug)]
pub(crate) struct LinkEndpoint {
    setup: LinkSetup,
    clocks: Arc<PeerClocks>,
    missing_links: Arc<MissingLinks>,
    /// When this process began, in Unix nanoseconds.
    process: u64,
    links: AtomicU64,
}

impl LinkEndpoint {
    pub(crate) fn new(setup: LinkSetup, clocks: Arc<PeerClocks>) -> Arc<Self> {
        Arc::new(Self {
            setup,
            process: clocks.now().wall_nanos,
            clocks,
            missing_links: Arc::default(),
            links: AtomicU64::new(0),
        })
    }

    /// Returns the clocks of the nodes to which there is a link.
    pub(crate) const fn clocks(&self) -> &Arc<PeerClocks> {
        &self.clocks
    }

    /// Returns the links that this node does not have.
    pub(crate) const fn missing_links(&self) -> &Arc<MissingLinks> {
        &self.missing_links
    }

    /// Returns this side of a new link.
    fn side(&self, to: Option<NodeName>, purpose: LinkPurpose) -> HandshakeSide {
        HandshakeSide {
            node: self.setup.node.clone(),
            cluster: self.setup.charter.cluster,
            format: handshake::FORMAT,
            release: handshake::RELEASE.to_owned(),
            incarnation: LinkIncarnation {
                process: self.process,
                link: self.links.fetch_add(1, Ordering::Relaxed),
            },
            to,
            purpose,
        }
    }

    /// Connects to the address of a node, in a bounded time.
    async fn connect(&self, address: &Arc<str>) -> Result<TcpStream, LinkError> {
        let stream = timeout(handshake::PATIENCE, TcpStream::connect(&**address)).await;
        let stream = stream.map_err(|_| LinkError::NoAnswer(address.clone()))?;
        let stream = stream.map_err(|source| LinkError::Unreachable {
            address: address.clone(),
            source,
        })?;
        let configured = self.configure(&stream);
        configured.map_err(LinkError::Broken).map(|()| stream)
    }

    fn configure(&self, stream: &TcpStream) -> io::Result<()> {
        connection::detect_dead_peer(stream, self.setup.silence, self.setup.silence)
    }
}

#[cfg(test)]
mod tests;
