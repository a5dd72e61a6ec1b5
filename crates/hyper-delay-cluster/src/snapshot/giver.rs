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
use crate::{ShardId, replica::Applied};
use hyper_delay_archive::backup::Stream;
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{self, key},
};

/// Snapshots that are given at a time. Others are refused, and asked for again.
const AT_A_TIME: usize = 2;

/// Bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// Why a node gives no snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotGiven {
    /// It is not set up to.
    #[error("this node gives no snapshots")]
    Never,
    /// It gives too many.
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
        /// What it has.
        synced: u64,
        /// What is needed.
        least: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It has panicked.
    #[error("reading the store has panicked")]
    Panicked,
}

type Source = dyn Fn(ShardId) -> Result<Arc<dyn ReadStore>, NotGiven> + Send + Sync;

/// Gives snapshots of the replicas of this node.
pub(crate) struct Giver {
    source: Arc<Source>,
    permits: Arc<Semaphore>,
}

impl Giver {
    /// `source` returns the replica of a shard, if it works.
    pub(crate) fn new(
        source: impl Fn(ShardId) -> Result<Arc<dyn ReadStore>, NotGiven> + Send + Sync + 'static,
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
    /// If the node gives enough of them already, or its replica is not of use.
    pub(crate) async fn begin(&self, wanted: SnapshotRequest) -> Result<Given, NotGiven> {
        let permit = self.permits.clone().try_acquire_owned();
        let permit = permit.map_err(|_| NotGiven::Busy)?;
        let source = self.source.clone();
        let begun = spawn_blocking(move || {
            let store = source(wanted.shard)?;
            // The note only grows, so the snapshot has this one or a later one.
            let synced = synced(&*store)?;
            if synced < wanted.least {
                let least = wanted.least;
                return Err(NotGiven::TooOld { synced, least });
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_millis().try_into().unwrap_or(u64::MAX));
            Ok(Stream::begin(store.snapshot()?, now))
        });
        let stream = begun.await.unwrap_or(Err(NotGiven::Panicked))?;
        Ok(Given {
            stream: Some(stream),
            _permit: permit,
        })
    }
}

impl fmt::Debug for Giver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Giver");
        shown
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

/// Returns the last entry that is on the disk of a replica for sure.
fn synced(store: &dyn ReadStore) -> Result<u64, StoreError> {
    match store.get(Space::Meta, key::SYNCED)? {
        Some(synced) => Ok(record::decode::<Applied>(&synced)?.seq),
        None => Ok(0),
    }
}

/// A snapshot that is given.
#[derive(Debug)]
pub(crate) struct Given {
    /// `None`: it has failed.
    stream: Option<Stream>,
    _permit: OwnedSemaphorePermit,
}

impl Given {
    /// Returns the next bytes. None means that all were returned.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The snapshot cannot be completed then.
    ///
    /// # Cancel safety
    ///
    /// The snapshot cannot be completed.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, NotGiven> {
        let mut stream = self.stream.take().ok_or(NotGiven::Panicked)?;
        let reading = spawn_blocking(move || {
            let piece = stream.next(PIECE);
            (stream, piece)
        });
        let (stream, piece) = reading.await.map_err(|_| NotGiven::Panicked)?;
        let piece = piece?;
        self.stream = Some(stream);
        Ok(piece)
    }
}
