//! Nodes whose links are real, and whose shards and forwarders are channels.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{ReadHalf, WriteHalf},
    net::TcpStream,
    sync::{
        mpsc::{UnboundedReceiver, unbounded_channel},
        watch,
    },
    task::AbortHandle,
    time::timeout,
};

use crate::{
    Charter, ShardId,
    link::{
        LinkEndpoint, LinkSetup,
        error::LinkError,
        frame::FrameReader,
        handshake::{self, HandshakeSide, LinkIncarnation, LinkPurpose},
        listener::LinkListener,
        outgoing_links::{LinkEvent, OutgoingLinks},
        peer_clocks::PeerClocks,
        peers::Peers,
        tls::LinkTls,
    },
    log::{Leader, LeaseId, Member},
    shard::ShardEvent,
    snapshot::SnapshotProvider,
};
use hyper_delay_engine::clock::Clock;

pub(super) const SHARDS: u16 = 3;
pub(super) const CLUSTER: u128 = 0xc1;

/// No test waits for longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node.
pub(super) struct TestNode {
    pub(super) name: &'static str,
    pub(super) endpoint: Arc<LinkEndpoint>,
    pub(super) address: SocketAddr,
    pub(super) peers: Arc<Peers>,
    /// The events for its shards.
    pub(super) events: UnboundedReceiver<(ShardId, ShardEvent)>,
    pub(super) links: OutgoingLinks,
    /// The events for its forwarder.
    pub(super) link_events: UnboundedReceiver<LinkEvent>,
    /// Whether its clock is off, when that changes.
    pub(super) off: UnboundedReceiver<bool>,
    listener: AbortHandle,
}

pub(super) struct Options {
    pub(super) cluster: u128,
    pub(super) tls: Option<LinkTls>,
    pub(super) most_waiting: usize,
    pub(super) provider: Option<Arc<SnapshotProvider>>,
    pub(super) silence: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cluster: CLUSTER,
            tls: None,
            most_waiting: 64 << 20,
            provider: None,
            silence: PATIENCE,
        }
    }
}

pub(super) async fn node(name: &'static str) -> TestNode {
    node_with(name, Options::default()).await
}

/// A node that gives snapshots.
pub(super) async fn node_providing(
    name: &'static str,
    provider: Arc<SnapshotProvider>,
) -> TestNode {
    let options = Options {
        provider: Some(provider),
        ..Options::default()
    };
    node_with(name, options).await
}

pub(super) async fn node_with(name: &'static str, options: Options) -> TestNode {
    let setup = LinkSetup {
        charter: Charter::new(options.cluster, SHARDS).unwrap(),
        node: name.into(),
        tls: options.tls,
        most_waiting: options.most_waiting,
        silence: options.silence,
    };
    let (tell_off, off) = unbounded_channel();
    let clocks = PeerClocks::new(Clock::new(), move |is_off| {
        let _ = tell_off.send(is_off);
    });
    let endpoint = LinkEndpoint::new(setup, clocks);
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = LinkListener::bind(endpoint.clone(), any, false)
        .await
        .unwrap();
    let listener = match options.provider {
        Some(provider) => listener.with_snapshots(provider),
        None => listener,
    };
    let address = listener.address().unwrap();
    let (tell, events) = unbounded_channel();
    let peers = Peers::new(SHARDS, move |shard, event| {
        let _ = tell.send((shard, event));
    });
    let (tell, link_events) = unbounded_channel();
    let (_, is_node) = watch::channel(true);
    let links = OutgoingLinks::new(endpoint.clone(), is_node, move |event| {
        let _ = tell.send(event);
    });
    TestNode {
        name,
        endpoint,
        address,
        events,
        links,
        link_events,
        off,
        listener: tokio::spawn(listener.run(peers.clone())).abort_handle(),
        peers,
    }
}

impl TestNode {
    /// Returns this node as the leader of a shard, at this address.
    pub(super) fn leader_at(&self, address: impl ToString) -> Leader {
        Leader {
            member: Member {
                node: self.name.into(),
                address: address.to_string().into(),
            },
            epoch: 1,
            lease: LeaseId(1),
        }
    }

    pub(super) fn leader(&self) -> Leader {
        self.leader_at(self.address)
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Waits for what a channel has next.
pub(super) async fn next<T>(channel: &mut UnboundedReceiver<T>) -> T {
    let received = timeout(PATIENCE, channel.recv()).await;
    received.expect("it never came").expect("the sender lives")
}

/// Waits for something that must happen.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it never happened")
}

/// A link that is made by hand.
pub(super) struct ByHand {
    pub(super) frames: FrameReader<ReadHalf<TcpStream>>,
    pub(super) writer: WriteHalf<TcpStream>,
}

impl ByHand {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (reader, writer) = tokio::io::split(stream);
        Self {
            frames: FrameReader::new(reader, handshake::LONGEST),
            writer,
        }
    }

    /// Makes the handshake as this side.
    pub(super) async fn call(&mut self, side: &HandshakeSide) -> Result<HandshakeSide, LinkError> {
        let called = handshake::call(&mut self.frames, &mut self.writer, side).await;
        self.frames.allow(1 << 20);
        called
    }
}

/// Returns a node of the cluster.
pub(super) fn side(name: &str) -> HandshakeSide {
    HandshakeSide {
        node: name.into(),
        cluster: CLUSTER,
        format: handshake::FORMAT,
        release: handshake::RELEASE.to_owned(),
        incarnation: LinkIncarnation {
            process: 1,
            link: 1,
        },
        to: None,
        purpose: LinkPurpose::Link,
    }
}
