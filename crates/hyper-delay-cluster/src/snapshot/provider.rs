use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

use super::SnapshotRequest;
use crate::{ShardId, replica::AppliedEntry};
use hyper_delay_archive::backup::BackupStream;
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{self, key},
};

/// The maximum number of concurrent snapshots. Others are refused, and requested again.
const AT_A_TIME: usize = 2;

/// The maximum bytes of a read.
const PIECE: usize = 256 << 10;

/// Why a node sends no snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotUnavailable {
    /// It does not provide any.
    #[error("this node gives no snapshots")]
    Never,
    /// It sends too many already.
    #[error("this node gives {AT_A_TIME} snapshots already")]
    Busy,
    /// There is no such shard.
    #[error("there is no shard {0} in this cluster")]
    NoShard(u16),
    /// The replica of this node does not work.
    #[error("shard {shard} has stopped on this node: {reason}")]
    Stopped {
        /// The shard.
        shard: u16,
        /// Why.
        reason: Arc<str>,
    },
    /// The replica is too old.
    #[error("this node has synced entry {synced}, and entry {least} is needed")]
    TooOld {
        /// The last entry that it has synced.
        synced: u64,
        /// The entry that is needed.
        least: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It has panicked.
    #[error("reading the store has panicked")]
    Panicked,
}

type ReplicaSource =
    dyn Fn(ShardId) -> Result<Arc<dyn ReadStore>, SnapshotUnavailable> + Send + Sync;

/// Provides snapshots of the replicas of this node.
pub(crate) struct SnapshotProvider {
    source: Arc<ReplicaSource>,
    permits: Arc<Semaphore>,
}

impl SnapshotProvider {
    /// `source` returns the replica of a shard, if it works.
    pub(crate) fn new(
        source: impl Fn(ShardId) -> Result<Arc<dyn ReadStore>, SnapshotUnavailable>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            source: Arc::new(source),
            permits: Arc::new(Semaphore::new(AT_A_TIME)),
        })
    }

    /// Takes a snapshot.
    ///
    /// # Errors
    ///
    /// If the node sends enough of them already, or its replica cannot be used.
    pub(crate) async fn open(
        &self,
        wanted: SnapshotRequest,
    ) -> Result<SnapshotStream, SnapshotUnavailable> {
        let permit = self.permits.clone().try_acquire_owned();
        let permit = permit.map_err(|_| SnapshotUnavailable::Busy)?;
        let source = self.source.clone();
        let opened = spawn_blocking(move || {
            let store = source(wanted.shard)?;
            // The note only grows, so the snapshot has this one or a later one.
            let synced = synced(&*store)?;
            if synced < wanted.least {
                let least = wanted.least;
                return Err(SnapshotUnavailable::TooOld { synced, least });
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_millis().try_into().unwrap_or(u64::MAX));
            Ok(BackupStream::begin(store.snapshot()?, now))
        });
        let stream = opened.await.unwrap_or(Err(SnapshotUnavailable::Panicked))?;
        Ok(SnapshotStream {
            stream: Some(stream),
            _permit: permit,
        })
    }
}

impl fmt::Debug for SnapshotProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SnapshotProvider");
        shown
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

/// Returns the last entry that is on the disk of a replica for sure.
fn synced(store: &dyn ReadStore) -> Result<u64, StoreError> {
    match store.get(Space::Meta, key::SYNCED)? {
        Some(synced) => Ok(record::decode::<AppliedEntry>(&synced)?.seq),
        None => Ok(0),
    }
}

/// A snapshot that is being sent.
#[derive(Debug)]
pub(crate) struct SnapshotStream {
    /// `None`: it has failed.
    stream: Option<BackupStream>,
    _permit: OwnedSemaphorePermit,
}

impl SnapshotStream {
    /// Returns the next bytes. None means that all were returned.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The snapshot cannot be completed then.
    ///
    /// # Cancel safety
    ///
    /// The snapshot cannot be completed.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, SnapshotUnavailable> {
        let mut stream = self.stream.take().ok_or(SnapshotUnavailable::Panicked)?;
        let reading = spawn_blocking(move || {
            let piece = stream.next(PIECE);
            (stream, piece)
        });
        let (stream, piece) = reading.await.map_err(|_| SnapshotUnavailable::Panicked)?;
        let piece = piece?;
        self.stream = Some(stream);
        Ok(piece)
    }
}
