//! A node at work: its shards, its links to other nodes, and the forwarder of its clients.
//!
//! ```text
//! connections ──▶ forwarder ──▶ threads of the shards ──▶ log
//!             ◀──  ▲     │  ◀──
//!                  │     ▼
//!             links from and to other nodes
//! ```

mod discover;
mod error;
mod forwarder_thread;
mod node_links;
mod shard_memory;
mod to_forwarder;

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot, task::JoinHandle, time::timeout};

pub(crate) use error::ServingError;

use super::{
    Charter, ShardId,
    forward::{self, Forwarder, wire::ToServing},
    link::{
        LinkSetup,
        outgoing_links::{self, OutgoingLinks},
        tls::LinkTls,
    },
    log::{Leader, Log, Member},
    merged::MergedStore,
    node::{ClusterNode, NodeConfig, NodeError, ShardHandle},
    setup,
};
use forwarder_thread::{ForwarderThread, WaitingCallers};
use hyper_delay_config::{Cluster, Config};
use hyper_delay_engine::{
    clock::Clock,
    metrics::{self, GaugeLimits, Gauges, MemoryGauges, Metrics},
    sizes::Sizes,
    thread_progress::ThreadProgress,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_server::{
    driver::ServerEvent, http::ReadGauges, outbox::ConnectionOutboxes, replica_events::ReplicaEvent,
};
use node_links::NodeLinks;
use to_forwarder::ToForwarder;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve";

/// A group of changes ends when its rows have this many bytes: an entry is one value of the log.
const GROUP: usize = 64 << 10;

/// Beyond this many bytes of all journals, a minority of the nodes that is behind is left behind.
/// Each shard has a part.
const RETENTION: u64 = 256 << 20;

/// The interval between syncs of applied entries. After a crash they are applied once more.
const SYNC: Duration = Duration::from_secs(1);

/// A link is cut when more bytes wait to be written to it.
const MOST_WAITING: usize = 64 << 20;

/// A message for the thread of the forwarder.
#[derive(Debug)]
pub(crate) enum ForwarderMessage {
    /// Of the connections of clients.
    Event(ServerEvent),
    /// About the replicas of this node.
    Replica(ReplicaEvent),
    /// Of the cluster.
    Cluster(ClusterEvent),
}

/// An event of the cluster, for the forwarder.
#[derive(Debug)]
pub(crate) enum ClusterEvent {
    /// Of a link to another node.
    Link(outgoing_links::LinkEvent),
    /// Messages of the leader of a shard, which is on this node.
    OfLeader(ShardId, Vec<ToServing>),
    /// The nodes of the cluster.
    Members(Arc<[Member]>),
    /// The leader of a shard, as far as this node knows.
    Leader(ShardId, Option<Leader>),
    /// The replica of a shard contains everything up to this entry.
    Applied(ShardId, u64),
    /// Whether the replica of a shard follows it, or has stopped.
    Follows(ShardId, bool),
}

/// Handles for the connections of clients.
#[derive(Debug)]
pub(crate) struct ServingHandles {
    pub(crate) store: Arc<MergedStore<Embedded>>,
    pub(crate) metrics: Arc<Metrics>,
}

/// The parameters of [`ServingNode::start`].
#[derive(Debug)]
pub(crate) struct ServingNodeSetup {
    pub(crate) config: Arc<Config>,
    /// The cluster of `config`.
    pub(crate) cluster: Cluster,
    /// Sends to `inbox`.
    pub(crate) messages: Sender<ForwarderMessage>,
    /// The events of the connections of clients, and of the cluster.
    pub(crate) inbox: Receiver<ForwarderMessage>,
    pub(crate) clock: Clock,
    pub(crate) pulses: Arc<ThreadProgress>,
    /// The sizes of the schedulers.
    pub(crate) sizes: Sizes,
}

/// A node at work. Dropping it ends the node as a crash would. The thread of the forwarder ends with
/// [`ServerEvent::Abandoned`].
#[derive(Debug)]
pub(crate) struct ServingNode {
    node: ClusterNode,
    /// A request is answered in this time.
    patience: Duration,
    messages: Sender<ForwarderMessage>,
    /// Resolves when no request of a client is in flight, after [`ServerEvent::Drain`].
    settled: oneshot::Receiver<()>,
    /// Resolves when the thread of the forwarder has ended.
    forwarder: oneshot::Receiver<()>,
    listener: ListenerTask,
}

impl ServingNode {
    /// Takes part in the cluster, and serves connections from now on, whose events come in
    /// `setup.inbox`.
    ///
    /// # Errors
    ///
    /// If this node is no member of a cluster, or its files, addresses or stores cannot be used.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the stores are opened nevertheless, and closed again.
    pub(crate) async fn start(
        log: Arc<impl Log>,
        setup: ServingNodeSetup,
    ) -> Result<(Self, ServingHandles), ServingError> {
        let ServingNodeSetup {
            config,
            cluster,
            messages,
            inbox,
            clock,
            pulses,
            sizes,
        } = setup;
        let tls = load_link_tls(&cluster)?;
        let (charter, members) = discover::discover(&*log, &cluster).await?;
        let member = setup::member(&cluster);
        let node = member.node.clone();
        let metrics: Arc<Metrics> = Arc::default();

        let link_setup = LinkSetup {
            charter,
            node: node.clone(),
            tls,
            most_waiting: MOST_WAITING,
            silence: cluster.lease(),
        };
        let NodeLinks {
            endpoint,
            listener,
            peers,
            shards,
        } = NodeLinks::bind(link_setup, &members, &cluster, &config, clock).await?;
        let merged: Arc<OnceLock<_>> = Arc::default();
        let observer = ToForwarder {
            messages: messages.clone(),
            peers: peers.clone(),
            store: merged.clone(),
        };
        let setup = NodeConfig {
            charter,
            member,
            members,
            lease: setup::lease_times(&cluster),
            missing_links: endpoint.missing_links().clone(),
            config: config.clone(),
            metrics: metrics.clone(),
            group_bytes: GROUP,
            retention: RETENTION / u64::from(charter.shards),
            sync_interval: SYNC,
            sizes,
        };
        let started = ClusterNode::start(log, setup, clock, pulses.clone(), observer).await?;
        let shards = shards.get_or_init(|| started.shards().clone()).clone();
        let store = Arc::new(MergedStore::new(shards.iter().map(ShardHandle::store)));
        let store = merged.get_or_init(|| store).clone();
        started.set_endpoint(endpoint.clone());
        let listener = listener.with_snapshots(started.snapshot_provider());

        let link_events = messages.clone();
        let links = OutgoingLinks::new(endpoint, started.is_node(), move |event| {
            // The forwarder is gone when the node ends.
            let _ = link_events.send(ForwarderMessage::Cluster(ClusterEvent::Link(event)));
        });
        let setup =
            forward::ForwarderSetup::new(node.clone(), charter.shards, cluster.lease(), &config);
        let (settle, settled) = oneshot::channel();
        let forwarder = ForwarderThread {
            node,
            forwarder: Forwarder::new(setup, metrics.clone(), clock.now()),
            inbox,
            outboxes: ConnectionOutboxes::default(),
            links,
            nodes: Default::default(),
            shards,
            current_term: started.current_term().clone(),
            clock,
            pulses,
            runtime: Handle::current(),
            waiting: WaitingCallers::new(settle),
        };
        let serving = Self {
            node: started,
            patience: cluster.lease(),
            messages,
            settled,
            forwarder: forwarder.spawn()?,
            listener: ListenerTask(tokio::spawn(listener.run(peers))),
        };
        let handles = ServingHandles { store, metrics };
        Ok((serving, handles))
    }

    /// Resolves when a thread of the node has ended, which is an error. Cancel safe.
    pub(crate) async fn ended(&mut self) -> ServingError {
        tokio::select! {
            error = self.node.ended() => error.into(),
            _ = &mut self.forwarder => NodeError::Ended("forwarder".to_owned()).into(),
        }
    }

    /// Waits until all requests of clients are answered, of which no more come, and hands over what
    /// the node leads. [`ServerEvent::Drain`] must be sent before.
    ///
    /// # Errors
    ///
    /// If a thread has panicked.
    pub(crate) async fn stop(self) -> Result<(), ServingError> {
        let Self {
            mut node,
            patience,
            messages,
            settled,
            mut forwarder,
            listener,
        } = self;
        let is_settled = tokio::select! {
            settled = timeout(2 * patience, settled) => settled.is_ok_and(|it| it.is_ok()),
            error = node.ended() => return Err(error.into()),
        };
        if !is_settled {
            tracing::warn!(
                target: TARGET,
                "some requests have no answer: their clients repeat them elsewhere",
            );
        }
        // The forwarder still reports to the leaders that nothing of theirs is written any more.
        let stopped = node.stop().await;
        drop(listener);
        let _ = messages.send(ForwarderMessage::Event(ServerEvent::Abandoned));
        let _ = (&mut forwarder).await;
        Ok(stopped?)
    }
}

/// Loads the files of TLS between nodes, and warns if no node could connect to this one with them.
fn load_link_tls(cluster: &Cluster) -> Result<Option<LinkTls>, ServingError> {
    let tls = setup::link_files(cluster).map(|files| LinkTls::load(&files));
    let tls = tls.transpose()?;
    let trouble = tls.as_ref().and_then(|tls| tls.trouble(&cluster.advertise));
    if let Some(trouble) = trouble {
        tracing::warn!(target: TARGET, "the links to this node will fail: {trouble}");
    }
    Ok(tls)
}

/// Ends the listener for links when it is dropped.
#[derive(Debug)]
struct ListenerTask(JoinHandle<()>);

impl Drop for ListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ServingHandles {
    /// Returns how gauges are read: those of each shard with what its leader has in memory, if that
    /// is on this node.
    pub(crate) fn gauges(&self) -> ReadGauges {
        let store = self.store.clone();
        Arc::new(move |memory: &[MemoryGauges], limits: &GaugeLimits| {
            let stores = store.all();
            let of_each = limits.of_each(stores.len());
            let parts = stores.iter().zip(memory);
            let parts = parts.map(|(store, memory)| metrics::read_gauges(store, memory, &of_each));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            Ok(Gauges::join(parts, limits))
        })
    }
}
