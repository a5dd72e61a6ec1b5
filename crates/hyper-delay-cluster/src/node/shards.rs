//! The shards of a node: how they are opened, and how they are reached.

use std::{
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
        mpsc::Sender,
    },
    thread,
};

use tokio::sync::oneshot;

use super::{NodeConfig, NodeError, members, worker::WorkerMessage};
use crate::{
    ShardId,
    replica::ApplyError,
    shard::{Shard, ShardEvent, ShardSetup},
    snapshot::SnapshotUnavailable,
};
use hyper_delay_engine::{clock::Clock, metrics::MemoryGauges, scheduler::SchedulerSettings};
use hyper_delay_fjall::{Embedded, node_directory::NodeDirectory};
use hyper_delay_store::ReadStore;

/// A shard of a running node.
#[derive(Debug, Clone)]
pub(crate) struct ShardHandle {
    id: ShardId,
    messages: Sender<WorkerMessage>,
    replica: Arc<RwLock<ServedReplica>>,
    /// Bytes of entries that the thread has not taken.
    waiting: Arc<AtomicUsize>,
}

/// The store of a shard on this node, and whether it works.
#[derive(Debug)]
struct ServedReplica {
    store: Arc<Embedded>,
    /// Why it does not.
    stopped: Option<Arc<str>>,
}

/// The most bytes of entries that wait for the thread of a shard. It reads from the journal what it
/// is not told, when its disk is fast enough again.
const MOST_WAITING: usize = 4 << 20;

/// Returns the bytes of entries.
pub(super) fn bytes(entries: &[(u64, Arc<[u8]>)]) -> usize {
    entries.iter().map(|(_, entry)| entry.len()).sum()
}

impl ShardHandle {
    pub(super) fn new(id: ShardId, messages: Sender<WorkerMessage>, store: Arc<Embedded>) -> Self {
        Self {
            id,
            messages,
            replica: Arc::new(RwLock::new(ServedReplica {
                store,
                stopped: None,
            })),
            waiting: Arc::default(),
        }
    }

    /// Returns the bytes of entries that the thread has not taken.
    pub(super) const fn waiting(&self) -> &Arc<AtomicUsize> {
        &self.waiting
    }

    /// Passes entries of the journal on, unless too many wait.
    pub(super) fn entries(&self, entries: Vec<(u64, Arc<[u8]>)>) {
        let bytes = bytes(&entries);
        if self.waiting.load(Ordering::Relaxed) + bytes <= MOST_WAITING {
            self.waiting.fetch_add(bytes, Ordering::Relaxed);
            self.event(ShardEvent::Entries(entries));
        }
    }

    /// Returns its number.
    #[cfg(test)]
    pub(super) const fn id(&self) -> ShardId {
        self.id
    }

    /// Passes something to the scheduler. It is dropped unless this node leads the shard then.
    #[cfg(test)]
    pub(super) fn input(&self, input: hyper_delay_engine::scheduler::SchedulerInput) {
        self.event(ShardEvent::Input(input));
    }

    /// Returns the replica of this node, to read from. While it is held, no other node can use the
    /// data directory.
    ///
    /// Another one can take its place: see [`ShardNotice::Replaced`](super::ShardNotice::Replaced).
    pub(crate) fn store(&self) -> Arc<Embedded> {
        self.read().store.clone()
    }

    /// Returns the replica of this node for another one.
    ///
    /// # Errors
    ///
    /// If the shard has stopped on this node.
    pub(super) fn snapshot_source(&self) -> Result<Arc<dyn ReadStore>, SnapshotUnavailable> {
        let replica = self.read();
        match &replica.stopped {
            None => Ok(replica.store.clone()),
            Some(reason) => Err(SnapshotUnavailable::Stopped {
                shard: self.id.0,
                reason: reason.clone(),
            }),
        }
    }

    /// The shard has stopped, for this reason.
    pub(super) fn stopped(&self, reason: Arc<str>) {
        self.write().stopped = Some(reason);
    }

    /// The shard has resumed with another store.
    pub(super) fn replaced(&self, store: Arc<Embedded>) {
        let stopped = None;
        *self.write() = ServedReplica { store, stopped };
    }

    fn read(&self) -> RwLockReadGuard<'_, ServedReplica> {
        self.replica.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ServedReplica> {
        self.replica.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an event, such as one of a link, to the thread of the shard.
    pub(crate) fn event(&self, event: ShardEvent) {
        self.send(WorkerMessage::Event(event));
    }

    /// Asks what the leader of the shard has in memory, if it is on this node. The receiver fails if
    /// the thread has ended.
    pub(crate) fn in_memory(&self) -> oneshot::Receiver<MemoryGauges> {
        let (answer_to, answer) = oneshot::channel();
        self.send(WorkerMessage::InMemory(answer_to));
        answer
    }

    pub(super) fn send(&self, message: WorkerMessage) {
        // A thread that has ended reports this by itself.
        let _ = self.messages.send(message);
    }
}

/// The shards, not running yet.
pub(super) struct OpenedShards {
    pub(super) shards: Vec<(Arc<Embedded>, Shard<Embedded>)>,
    pub(super) directory: NodeDirectory,
}

/// Opens the stores of all shards.
pub(super) async fn open(config: NodeConfig, clock: Clock) -> Result<OpenedShards, NodeError> {
    let (answer_to, opened) = oneshot::channel();
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let opener = thread::Builder::new().name("opener".to_owned());
    let opener = opener.spawn(move || {
        let _ = answer_to.send(open_all(&config, clock));
    });
    opener.map_err(NodeError::Thread)?;
    let opened = opened.await;
    opened.unwrap_or_else(|_| Err(NodeError::Ended("opener".to_owned())))
}

fn open_all(config: &NodeConfig, clock: Clock) -> Result<OpenedShards, NodeError> {
    let charter = config.charter;
    let directory = NodeDirectory::lock(&config.config.data_dir, charter.shards)?;
    let directory = directory.with_reserve(config.config.disk_reserve_mib << 20);
    let settings = SchedulerSettings::from(config.config.clone())
        .with_sizes(config.sizes)
        .for_shard(charter.shards);
    let members = members::names(&config.members);
    let open = |id: ShardId| {
        let setup = ShardSetup {
            charter,
            shard: id,
            member: config.member.clone(),
            metrics: config.metrics.clone(),
            settings: settings.clone(),
            dedupe_millis: config.config.dedupe_seconds.saturating_mul(1000),
            lease: config.lease.ttl,
            group_bytes: config.group_bytes,
            retention: config.retention,
            sync_interval: config.sync_interval,
        };
        let store = Arc::new(directory.open(id.0)?);
        let shard = Shard::open(store.clone(), setup, members.clone(), clock.now())
            .map_err(|source| NodeError::Replica { shard: id, source })?;
        Ok::<_, NodeError>((store, shard))
    };
    let open = |id: ShardId| match open(id) {
        Err(NodeError::Replica {
            source: ApplyError::Store(error),
            ..
        }) if error.is_corruption() => {
            directory.quarantine(id.0, &error.reason().to_string())?;
            open(id)
        }
        opened => opened,
    };
    let shards = (0..charter.shards).map(ShardId).map(open);
    let shards = shards.collect::<Result<_, _>>()?;
    Ok(OpenedShards { shards, directory })
}
