//! A running node: the threads of its shards, the task of its lease, and their stores.
//!
//! ```text
//! log ─events─▶ thread of a shard ──▶ observer (replies, deliveries, leaders)
//!  ▲                 ▲   │
//!  └── requests ─────┼───┤
//!      answers ──────┘   └──▶ store
//! ```

mod address;
mod current_term;
mod error;
mod lease_task;
mod log_watch;
mod members;
mod replies;
mod shard_observer;
mod shards;
mod snapshot_download;
mod store_examination;
mod task_exit;
mod worker;

use std::{
    fmt,
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender},
        oneshot, watch,
    },
    task::AbortHandle,
};

pub(crate) use current_term::CurrentTerm;
pub(crate) use error::NodeError;
pub(crate) use shard_observer::{ShardNotice, ShardObserver};
pub(crate) use shards::ShardHandle;

use super::{
    Charter, ShardId,
    lease::{Lease, LeaseTimes},
    link::{LinkEndpoint, missing_links::MissingLinks},
    log::{LeaseId, Log, Member},
    snapshot::{SnapshotProvider, SnapshotUnavailable},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock, metrics::Metrics, sizes::Sizes, thread_progress::ThreadProgress,
};
use hyper_delay_fjall::node_directory::WeakNodeDirectory;
use lease_task::LeaseEnding;
use task_exit::{TaskExit, TaskExitGuard};
use worker::{ShardWorker, WorkerContext, WorkerMessage};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node";

/// The name of the task of the lease.
const LEASE: &str = "lease";

/// The end of a node waits no longer for what still uses the data directory.
const CLOSING: Duration = Duration::from_secs(30);

/// The configuration of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeConfig {
    /// The cluster.
    pub charter: Charter,
    /// This node.
    pub member: Member,
    /// All nodes of the cluster, as they were at the start. The node follows the changes.
    pub members: Arc<[Member]>,
    /// The lease of this node.
    pub lease: LeaseTimes,
    /// The links that this node does not have, which its heartbeats report.
    pub missing_links: Arc<MissingLinks>,
    /// The settings of the scheduler and of the stores. Budgets of memory are those of the node.
    pub config: Arc<Config>,
    /// The metrics of the node.
    pub metrics: Arc<Metrics>,
    /// A group of changes ends when its rows have this many bytes.
    pub group_bytes: usize,
    /// Beyond this many bytes of a journal, a minority of the nodes that is behind is left behind.
    pub retention: u64,
    /// The interval between syncs of applied entries.
    pub sync_interval: Duration,
    /// The sizes of the scheduler.
    pub sizes: Sizes,
}

/// A running node. Dropping it ends it as a crash would: its threads end shortly after.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    shards: Arc<[ShardHandle]>,
    current_term: Arc<CurrentTerm>,
    /// Whether this process is the node: it has had the lease.
    is_node: watch::Receiver<bool>,
    tasks: Vec<AbortHandle>,
    /// Tells the task of the lease to give it up. `None`: this was sent.
    leave: Option<oneshot::Sender<LeaseEnding>>,
    exits: UnboundedReceiver<TaskExit>,
    /// The threads of shards that have not ended.
    threads: usize,
    /// The maximum time that [`stop`](Self::stop) waits for the leaderships to end.
    patience: Duration,
    directory: WeakNodeDirectory,
    /// Lets the shards fetch snapshots.
    endpoint_setter: EndpointSetter,
}

impl ClusterNode {
    /// Opens the stores, starts the threads, and takes part in the cluster from now on. The tasks
    /// of the log run on the current runtime.
    ///
    /// # Errors
    ///
    /// If the data directory or the store of a shard cannot be used, or a thread cannot be started.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the stores are opened nevertheless, and closed again.
    pub(crate) async fn start(
        log: Arc<impl Log>,
        config: NodeConfig,
        clock: Clock,
        pulses: Arc<ThreadProgress>,
        observer: impl ShardObserver,
    ) -> Result<Self, NodeError> {
        let opened = shards::open(config.clone(), clock).await?;
        let terms = Arc::new(CurrentTerm::default());
        let common = Arc::new(WorkerContext {
            log: log.clone(),
            runtime: Handle::current(),
            current_term: terms.clone(),
            clock,
            pulses,
            charter: config.charter,
            endpoint: OnceLock::new(),
            directory: opened.directory,
        });
        let (exits_to, exits) = task_exit::channel();
        let (become_node, is_node) = watch::channel(false);
        let mut node = Self {
            shards: [].into(),
            current_term: terms.clone(),
            is_node: is_node.clone(),
            tasks: Vec::new(),
            leave: None,
            exits,
            threads: 0,
            patience: config.lease.ttl,
            directory: common.directory.downgrade(),
            endpoint_setter: EndpointSetter::new(&common),
        };
        let mut handles = Vec::new();
        for (store, shard) in opened.shards {
            let id = ShardId(u16::try_from(handles.len()).expect("a charter has as many"));
            let (own, inbox) = mpsc::channel();
            let handle = ShardHandle::new(id, own.clone(), store);
            let waiting = handle.waiting().clone();
            handles.push(handle.clone());
            // A thread that runs already ends if the next one cannot be started.
            node.shards = handles.as_slice().into();
            let worker = ShardWorker {
                id,
                shard,
                inbox,
                waiting,
                own,
                handle,
                observer: observer.clone(),
                common: common.clone(),
                state: Default::default(),
            };
            start(worker, exits_to.clone())?;
            node.threads += 1;
        }
        let first = getrandom::u64().map_err(|error| NodeError::Random(error.into()))?;
        let member = config.member;
        let lease = Lease::new(config.lease, member.clone(), LeaseId(first), clock.now());
        let shards = node.shards.clone();
        let taken = move || {
            become_node.send_replace(true);
            shards
                .iter()
                .for_each(|shard| shard.send(WorkerMessage::TermBegun));
        };
        let (leave, leaving) = oneshot::channel();
        node.leave = Some(leave);
        let keeping = lease_task::run(
            log.clone(),
            lease,
            clock,
            terms,
            config.missing_links,
            taken,
            leaving,
        );
        node.task(LEASE, &exits_to, keeping);
        let pause = config.lease.ttl / 8;
        let changed = Arc::new(Notify::new());
        let (known, ttl) = (config.members, config.lease.ttl);
        let watching = log_watch::watch(log.clone(), node.shards.clone(), changed.clone(), pause);
        node.task("watch", &exits_to, watching);
        let recipients = (node.shards.clone(), observer);
        let following = async move {
            let telling = address::announce(&*log, &member, is_node, pause);
            let following =
                members::follow(log.clone(), &member.node, recipients, changed, known, ttl);
            tokio::join!(telling, following);
        };
        node.task("members", &exits_to, following);
        Ok(node)
    }

    fn task(
        &mut self,
        name: &str,
        exits_to: &UnboundedSender<TaskExit>,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let running = TaskExitGuard::new(name.to_owned(), exits_to.clone());
        let task = tokio::spawn(async move {
            let _running = running;
            task.await;
        });
        self.tasks.push(task.abort_handle());
    }

    /// Returns the shards, in the order of their numbers.
    pub(crate) const fn shards(&self) -> &Arc<[ShardHandle]> {
        &self.shards
    }

    /// Lets the shards fetch snapshots from other nodes, from now on. Before that, a shard that
    /// needs one waits.
    pub(crate) fn set_endpoint(&self, endpoint: Arc<LinkEndpoint>) {
        (self.endpoint_setter.0)(endpoint);
    }

    /// Returns the provider of snapshots of the shards of this node.
    pub(crate) fn snapshot_provider(&self) -> Arc<SnapshotProvider> {
        let shards = self.shards.clone();
        SnapshotProvider::new(move |shard| {
            let handle = shards.get(usize::from(shard.0));
            handle
                .ok_or(SnapshotUnavailable::NoShard(shard.0))?
                .snapshot_source()
        })
    }

    /// Returns the term of this node.
    pub(crate) const fn current_term(&self) -> &Arc<CurrentTerm> {
        &self.current_term
    }

    /// Returns whether this process has had the lease of the node: another one may have its name by
    /// mistake.
    pub(crate) fn is_node(&self) -> watch::Receiver<bool> {
        self.is_node.clone()
    }

    /// Resolves when a thread or task of the node has ended, which is an error. Cancel safe.
    pub(crate) async fn ended(&mut self) -> NodeError {
        match self.exits.recv().await {
            Some(TaskExit { name, .. }) => NodeError::Ended(name),
            None => NodeError::Ended("node".to_owned()),
        }
    }

    /// Hands over what the node leads, syncs the stores, ends the threads, and removes the
    /// heartbeat, so the next process need not wait. The hand-over takes no longer than a lease;
    /// without it the heartbeat does not change any more, and what the node leads is taken over after
    /// a lease.
    ///
    /// # Errors
    ///
    /// If a thread has panicked.
    pub(crate) async fn stop(mut self) -> Result<(), NodeError> {
        let handing_over = self.shards.iter().map(|shard| {
            let (done, is_over) = oneshot::channel();
            shard.send(WorkerMessage::HandOver(done));
            is_over
        });
        let handing_over: Vec<_> = handing_over.collect();
        let waiting = async {
            let mut are_over = true;
            for is_over in handing_over {
                // A thread that has panicked leads nothing, but the log does not know.
                are_over &= is_over.await.is_ok();
            }
            are_over
        };
        let handed_over = tokio::time::timeout(self.patience, waiting).await;
        let handed_over = handed_over.unwrap_or(false);
        if !handed_over {
            tracing::warn!(
                target: TARGET,
                "the shards could not be handed over: they end with the lease",
            );
            // The rest can take long, and a shard is not taken over from a node with a heartbeat.
            let _ = self
                .leave
                .take()
                .map(|leave| leave.send(LeaseEnding::Silent));
        }
        for shard in self.shards.iter() {
            shard.send(WorkerMessage::Finish);
        }
        let mut panicked = None;
        while self.threads > 0
            && let Some(end) = self.exits.recv().await
        {
            let is_thread = end.name.starts_with(worker::NAME);
            self.threads -= usize::from(is_thread);
            if end.has_panicked {
                panicked.get_or_insert(end.name);
            }
        }
        if handed_over && panicked.is_none() {
            self.leave().await;
        }
        self.wait_until_closed().await;
        panicked.map_or(Ok(()), |name| Err(NodeError::Ended(name)))
    }

    /// Waits until nothing of this node uses the data directory: a snapshot that is received, or a
    /// store that is removed, ends at its next step.
    async fn wait_until_closed(&self) {
        let closing = async {
            while self.directory.upgrade().is_some() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(CLOSING, closing).await.is_err() {
            tracing::warn!(
                target: TARGET,
                "the data directory is still in use at the end of the node",
            );
        }
    }

    /// Removes the heartbeat. Without an answer the next process waits for a lease.
    async fn leave(&mut self) {
        let leave = self.leave.take();
        let sent = leave.map(|leave| leave.send(LeaseEnding::HandedOver));
        let left = async {
            while let Some(end) = self.exits.recv().await {
                if end.name == LEASE {
                    return;
                }
            }
        };
        if sent == Some(Ok(())) {
            let _ = tokio::time::timeout(self.patience, left).await;
        }
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        for shard in self.shards.iter() {
            shard.send(WorkerMessage::End);
        }
    }
}

/// Sets what fetches snapshots.
struct EndpointSetter(Box<dyn Fn(Arc<LinkEndpoint>) + Send + Sync>);

impl EndpointSetter {
    fn new(common: &Arc<WorkerContext<impl Log>>) -> Self {
        // The node does not keep the data directory locked.
        let common = Arc::downgrade(common);
        Self(Box::new(move |endpoint| {
            if let Some(common) = common.upgrade() {
                let _ = common.endpoint.set(endpoint);
            }
        }))
    }
}

impl fmt::Debug for EndpointSetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointSetter").finish_non_exhaustive()
    }
}

/// Starts the thread of a shard.
fn start(
    worker: ShardWorker<impl Log, impl ShardObserver>,
    exits_to: UnboundedSender<TaskExit>,
) -> Result<(), NodeError> {
    let name = format!("{}{}", worker::NAME, worker.id.0);
    let running = TaskExitGuard::new(name.clone(), exits_to);
    let thread = std::thread::Builder::new().name(name);
    let started = thread.spawn(move || {
        let _running = running;
        worker.run();
    });
    started.map(drop).map_err(NodeError::Thread)
}

#[cfg(test)]
mod tests;
