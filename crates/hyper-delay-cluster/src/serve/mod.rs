//! A node at work: its shards, its links to other nodes, and the forwarder of its clients.
//!
//! ```text
//! connections ──▶ forwarder ──▶ threads of the shards ──▶ log
//!             ◀──  ▲     │  ◀──
//!                  │     ▼
//!             links from and to other nodes
//! ```

mod enlist;
mod error;
mod forwarding;
mod front;
mod memory;

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, Sender},
    },
    thread,
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot, task::JoinHandle, time::timeout};

pub(crate) use error::ServingError;

use super::{
    Charter, ShardId,
    forward::{self, Forwarder, wire::ToServing},
    link::{
        Endpoint, LinkSetup,
        clocks::Clocks,
        links::{self, Links},
        listener::LinkListener,
        peers::Peers,
        tls::LinkTls,
    },
    log::{Leader, Log, Member, NodeName},
    merged::Merged,
    node::{Node, NodeConfig, NodeError, ShardHandle},
    setup, shard,
};
use forwarding::{Forwarding, Waiting};
use front::ToForwarder;
use hyper_delay_config::{Cluster, Config};
use hyper_delay_engine::{
    clock::Clock,
    metrics::{self, Gauges, InMemory, Limits, Metrics},
    pulse::Pulses,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_server::{driver::Event, http::ReadGauges, outbox::Outboxes};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve";

/// A group of changes ends when its rows have this many bytes: an entry is one value of the log.
const GROUP: usize = 64 << 10;

/// Beyond this many bytes of all journals, a minority of the nodes that is behind is left behind.
/// Each shard has a part.
const RETENTION: u64 = 256 << 20;

/// What is applied is synced this often. It is in the log before; a crash applies it once more.
const SYNC: Duration = Duration::from_secs(1);

/// A link is cut when more bytes wait to be written to it.
const MOST_WAITING: usize = 64 << 20;

/// What reaches the thread of the forwarder.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Of the connections of clients.
    Event(Event),
    /// Of the cluster.
    News(News),
}

/// What the forwarder hears of the cluster.
#[derive(Debug)]
pub(crate) enum News {
    /// Of a link to another node.
    Link(links::News),
    /// Messages of the leader of a shard, which is on this node.
    OfLeader(ShardId, Vec<ToServing>),
    /// The nodes of the cluster.
    Members(Arc<[Member]>),
    /// Who leads a shard, as far as this node knows.
    Leader(ShardId, Option<Leader>),
    /// The replica of a shard contains everything up to this entry.
    Applied(ShardId, u64),
    /// Whether the replica of a shard follows it, or has stopped.
    Follows(ShardId, bool),
}

/// What the connections of clients need.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) store: Arc<Merged<Embedded>>,
    pub(crate) metrics: Arc<Metrics>,
}

/// A node at work. Dropping it ends the node as a crash would. The thread of the forwarder ends with
/// [`Event::Abandoned`].
#[derive(Debug)]
pub(crate) struct Serving {
    node: Node,
    /// A request is answered in this time.
    patience: Duration,
    mail: Sender<Mail>,
    /// Resolves when no request of a client is under way, after [`Event::Drain`].
    settled: oneshot::Receiver<()>,
    /// Resolves when the thread of the forwarder has ended.
    forwarder: oneshot::Receiver<()>,
    listener: Listening,
}

impl Serving {
    /// Takes part in the cluster, and serves connections from now on, whose events come in `mail`.
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
        (config, cluster): (Arc<Config>, &Cluster),
        (mail, inbox): (Sender<Mail>, Receiver<Mail>),
        clock: Clock,
        pulses: Arc<Pulses>,
    ) -> Result<(Self, Offer), ServingError> {
        let tls = setup::link_files(cluster).map(|files| LinkTls::load(&files));
        let tls = tls.transpose()?;
        let trouble = tls.as_ref().and_then(|tls| tls.trouble(&cluster.advertise));
        if let Some(trouble) = trouble {
            tracing::warn!(target: TARGET, "the links to this node will fail: {trouble}");
        }
        let (charter, members) = enlist::enlist(&*log, cluster).await?;
        let node: NodeName = setup::member(cluster).node;
        let metrics: Arc<Metrics> = Arc::default();

        let shards: Arc<OnceLock<Arc<[ShardHandle]>>> = Arc::default();
        let of_clocks = shards.clone();
        let clocks = Clocks::new(clock, move |is_off| {
            for shard in of_clocks.get().into_iter().flat_map(|shards| shards.iter()) {
                shard.event(shard::Event::ClockIsOff(is_off));
            }
        });
        let endpoint = Endpoint::new(
            LinkSetup {
                charter,
                node: node.clone(),
                tls,
                most_waiting: MOST_WAITING,
                silence: cluster.lease(),
            },
            clocks,
        );
        endpoint.missing().begin(&members, &node);
        let listener = LinkListener::bind(endpoint.clone(), cluster.bind_addr, config.open).await?;
        let of_peers = shards.clone();
        let peers = Peers::new(charter.shards, move |shard, event| {
            // No link is accepted before the shards are there.
            if let Some(shards) = of_peers.get() {
                shards[usize::from(shard.0)].event(event);
            }
        });
        let merged: Arc<OnceLock<_>> = Arc::default();
        let front = ToForwarder {
            mail: mail.clone(),
            peers: peers.clone(),
            store: merged.clone(),
        };
        let setup = NodeConfig {
            charter,
            member: setup::member(cluster),
            members,
            lease: setup::lease_times(cluster),
            missing_links: endpoint.missing().clone(),
            config: config.clone(),
            metrics: metrics.clone(),
            group_bytes: GROUP,
            retention: RETENTION / u64::from(charter.shards),
            sync_interval: SYNC,
        };
        let started = Node::start(log, setup, clock, pulses.clone(), front).await?;
        let shards = shards.get_or_init(|| started.shards().clone()).clone();
        let store = Arc::new(Merged::new(shards.iter().map(ShardHandle::store)));
        let store = merged.get_or_init(|| store).clone();
        started.fetch_over(endpoint.clone());
        let listener = listener.giving(started.giver());
        let of_links = mail.clone();
        let links = Links::new(endpoint, started.is_node(), move |news| {
            // The forwarder is gone when the node ends.
            let _ = of_links.send(Mail::News(News::Link(news)));
        });
        let setup = forward::Setup::new(node.clone(), charter.shards, cluster.lease(), &config);
        let forwarder = Forwarder::new(setup, metrics.clone(), clock.now());
        let (settle, settled) = oneshot::channel();
        let forwarding = Forwarding {
            node,
            forwarder,
            inbox,
            outboxes: Outboxes::default(),
            links,
            nodes: Default::default(),
            shards,
            terms: started.terms().clone(),
            clock,
            pulses,
            runtime: Handle::current(),
            waiting: Waiting::new(settle),
        };
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("forwarder".to_owned());
        let running = thread.spawn(move || {
            let _end = end;
            forwarding.run();
        });
        running.map_err(NodeError::Thread)?;
        let serving = Self {
            node: started,
            patience: cluster.lease(),
            mail,
            settled,
            forwarder: ended,
            listener: Listening(tokio::spawn(listener.run(peers))),
        };
        let offer = Offer { store, metrics };
        Ok((serving, offer))
    }

    /// Resolves when a thread of the node has ended, which is an error. Cancel safe.
    pub(crate) async fn ended(&mut self) -> ServingError {
        tokio::select! {
            error = self.node.ended() => error.into(),
            _ = &mut self.forwarder => NodeError::Ended("forwarder".to_owned()).into(),
        }
    }

    /// Waits until all requests of clients are answered, of which no more come, and hands over what
    /// the node leads. [`Event::Drain`] must be sent before.
    ///
    /// # Errors
    ///
    /// If a thread has panicked.
    pub(crate) async fn stop(self) -> Result<(), ServingError> {
        let Self {
            mut node,
            patience,
            mail,
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
        // The forwarder still tells the leaders that nothing of theirs is written any more.
        let stopped = node.stop().await;
        drop(listener);
        let _ = mail.send(Mail::Event(Event::Abandoned));
        let _ = (&mut forwarder).await;
        Ok(stopped?)
    }
}

/// Ends the listener for links when it is dropped.
#[derive(Debug)]
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Offer {
    /// Returns how gauges are read: those of each shard with what its leader has in memory, if that
    /// is on this node.
    pub(crate) fn gauges(&self) -> ReadGauges {
        let store = self.store.clone();
        Arc::new(move |memory: &[InMemory], limits: &Limits| {
            let stores = store.all();
            let of_each = limits.of_each(stores.len());
            let parts = stores.iter().zip(memory);
            let parts = parts.map(|(store, memory)| metrics::read(store, memory, &of_each));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            Ok(Gauges::join(parts, limits))
        })
    }
}
