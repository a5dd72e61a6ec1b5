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

use super::{NodeConfig, NodeError, members, worker::Mail};
use crate::{
    ShardId,
    replica::NotApplied,
    shard::{Event, Setup, Shard},
    snapshot::NotGiven,
};
use hyper_delay_engine::{clock::Clock, metrics::InMemory, scheduler::Settings, sizes::Sizes};
use hyper_delay_fjall::{Embedded, replicas::NodeDirectory};
use hyper_delay_store::ReadStore;

#[cfg(not(test))]
const SIZES: Sizes = Sizes::SERVER;
/// A short test crosses the boundaries of pages.
#[cfg(test)]
const SIZES: Sizes = Sizes::SMALL;

/// A shard of a running node.
#[derive(Debug, Clone)]
pub(crate) struct ShardHandle {
    id: ShardId,
    mail: Sender<Mail>,
    replica: Arc<RwLock<Replica>>,
    /// Bytes of entries that the thread has not taken.
    waiting: Arc<AtomicUsize>,
}

/// The store of a shard on this node, and whether it works.
#[derive(Debug)]
struct Replica {
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
    pub(super) fn new(id: ShardId, mail: Sender<Mail>, store: Arc<Embedded>) -> Self {
        Self {
            id,
            mail,
            replica: Arc::new(RwLock::new(Replica {
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
            self.event(Event::Entries(entries));
        }
    }

    /// Returns its number.
    #[cfg(test)]
    pub(super) const fn id(&self) -> ShardId {
        self.id
    }

    /// Passes something to the scheduler. It is dropped unless this node leads the shard then.
    #[cfg(test)]
    pub(super) fn input(&self, input: hyper_delay_engine::scheduler::Input) {
        self.event(Event::Input(input));
    }

    /// Returns the replica of this node, to read from. While it is held, no other node can use the
    /// data directory.
    ///
    /// Another one can take its place, which the [front](super::Told::Replaced) is told.
    pub(crate) fn store(&self) -> Arc<Embedded> {
        self.read().store.clone()
    }

    /// Returns the replica of this node for another one.
    ///
    /// # Errors
    ///
    /// If the shard has stopped on this node.
    pub(super) fn to_give(&self) -> Result<Arc<dyn ReadStore>, NotGiven> {
        let replica = self.read();
        match &replica.stopped {
            None => Ok(replica.store.clone()),
            Some(reason) => Err(NotGiven::Stopped {
                shard: self.id.0,
                reason: reason.clone(),
            }),
        }
    }

    /// The shard has stopped, for this reason.
    pub(super) fn stopped(&self, reason: Arc<str>) {
        self.write().stopped = Some(reason);
    }

    /// The shard goes on with another store.
    pub(super) fn replaced(&self, store: Arc<Embedded>) {
        let stopped = None;
        *self.write() = Replica { store, stopped };
    }

    fn read(&self) -> RwLockReadGuard<'_, Replica> {
        self.replica.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Replica> {
        self.replica.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an event, such as one of a link, to the thread of the shard.
    pub(crate) fn event(&self, event: Event) {
        self.mail(Mail::Event(event));
    }

    /// Asks what the leader of the shard has in memory, if it is on this node. The receiver fails if
    /// the thread has ended.
    pub(crate) fn in_memory(&self) -> oneshot::Receiver<InMemory> {
        let (tell, told) = oneshot::channel();
        self.mail(Mail::InMemory(tell));
        told
    }

    pub(super) fn mail(&self, mail: Mail) {
        // A thread that has ended says so by itself.
        let _ = self.mail.send(mail);
    }
}

/// The shards, not running yet.
pub(super) struct Opened {
    pub(super) shards: Vec<(Arc<Embedded>, Shard<Embedded>)>,
    pub(super) directory: NodeDirectory,
}

/// Opens the stores of all shards.
pub(super) async fn open(config: NodeConfig, clock: Clock) -> Result<Opened, NodeError> {
    let (tell, opened) = oneshot::channel();
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let opener = thread::Builder::new().name("opener".to_owned());
    let opener = opener.spawn(move || {
        let _ = tell.send(open_all(&config, clock));
    });
    opener.map_err(NodeError::Thread)?;
    let opened = opened.await;
    opened.unwrap_or_else(|_| Err(NodeError::Ended("opener".to_owned())))
}

fn open_all(config: &NodeConfig, clock: Clock) -> Result<Opened, NodeError> {
    let charter = config.charter;
    let directory = NodeDirectory::lock(&config.config.data_dir, charter.shards)?;
    let directory = directory.with_reserve(config.config.disk_reserve_mib << 20);
    let settings = Settings::from(config.config.clone())
        .with_sizes(SIZES)
        .of_shard(charter.shards);
    let members = members::names(&config.members);
    let open = |id: ShardId| {
        let setup = Setup {
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
            source: NotApplied::Store(error),
            ..
        }) if error.is_of_contents() => {
            directory.move_aside(id.0, &error.reason().to_string())?;
            open(id)
        }
        opened => opened,
    };
    let shards = (0..charter.shards).map(ShardId).map(open);
    let shards = shards.collect::<Result<_, _>>()?;
    Ok(Opened { shards, directory })
}
