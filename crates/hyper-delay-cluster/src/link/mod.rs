//! Links: what nodes tell each other about the connections of clients, over TCP.
//!
//! A serving node has one link to each node that leads shards ([`Links`](links::Links)). The
//! leading node accepts it ([`LinkListener`](listener::LinkListener)), and knows it by a number
//! ([`Peers`](peers::Peers)). A link carries the messages of all shards, in order in each
//! direction, and nothing is sent twice: what is on its way when a link breaks is lost, and both
//! sides are told.
//!
//! ```text
//! forwarder ──▶ Outboxes ──▶ ToLeader ──▶ Peers ──▶ threads of the shards
//!           ◀── News     ◀── ToServing ◀──       ◀──
//! ```
//!
//! # What never waits
//!
//! The threads of the forwarder and of the shards append to an [`Outbox`](outbox::Outbox), and a
//! task writes it to the socket. What clients have under way bounds it; if the other side does not
//! read, the link is cut at a limit.
//!
//! # Snapshots
//!
//! The port of the links also gives snapshots of shards: the handshake says what the side that
//! calls wants. A connection carries one snapshot, and ends with it ([`pieces`]).
//!
//! # Clocks
//!
//! Over every link both sides ask for the time of the other one ([`Clocks`]).

mod addresses;
pub(crate) mod clocks;
pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod fetch_snapshot;
mod frame;
mod give;
mod hello;
pub(crate) mod links;
pub(crate) mod listener;
pub(crate) mod missing;
pub(crate) mod outbox;
pub(crate) mod outboxes;
pub(crate) mod peers;
mod pieces;
mod session;
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
use clocks::Clocks;
use error::LinkError;
use hello::{Life, Purpose, Side};
use hyper_delay_server::connection;
use missing::MissingLinks;
use tls::LinkTls;

/// What the links of a node need to know.
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
pub(crate) struct Endpoint {
    setup: LinkSetup,
    clocks: Arc<Clocks>,
    missing: Arc<MissingLinks>,
    /// When this process began, in Unix nanoseconds.
    process: u64,
    links: AtomicU64,
}

impl Endpoint {
    pub(crate) fn new(setup: LinkSetup, clocks: Arc<Clocks>) -> Arc<Self> {
        Arc::new(Self {
            setup,
            process: clocks.now().wall_nanos,
            clocks,
            missing: Arc::default(),
            links: AtomicU64::new(0),
        })
    }

    /// Returns the clocks of the nodes to which there is a link.
    pub(crate) const fn clocks(&self) -> &Arc<Clocks> {
        &self.clocks
    }

    /// Returns the links that this node does not have.
    pub(crate) const fn missing(&self) -> &Arc<MissingLinks> {
        &self.missing
    }

    /// Returns this side of a new link.
    fn side(&self, to: Option<NodeName>, purpose: Purpose) -> Side {
        Side {
            node: self.setup.node.clone(),
            cluster: self.setup.charter.cluster,
            format: hello::FORMAT,
            release: hello::RELEASE.to_owned(),
            life: Life {
                process: self.process,
                link: self.links.fetch_add(1, Ordering::Relaxed),
            },
            to,
            purpose,
        }
    }

    /// Connects to the address of a node, in a bounded time.
    async fn connect(&self, address: &Arc<str>) -> Result<TcpStream, LinkError> {
        let stream = timeout(hello::PATIENCE, TcpStream::connect(&**address)).await;
        let stream = stream.map_err(|_| LinkError::NoAnswer(address.clone()))?;
        let stream = stream.map_err(|source| LinkError::Unreachable {
            address: address.clone(),
            source,
        })?;
        let configured = self.configure(&stream);
        configured.map_err(LinkError::Broken).map(|()| stream)
    }

    fn configure(&self, stream: &TcpStream) -> io::Result<()> {
        connection::watch_over(stream, self.setup.silence, self.setup.silence)
    }
}

#[cfg(test)]
mod tests;
