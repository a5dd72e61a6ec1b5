use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use object_store::{ObjectStore, ObjectStoreExt as _};
use tokio::task::JoinSet;

use crate::server::{self, Server};

/// How many reads run at once.
const READERS: usize = 64;

/// The length of a read.
const LENGTH: u64 = 64 * 1024;

/// How long each read took.
pub(crate) struct Took(Vec<Duration>);

impl Took {
    /// Sorts, and returns the percentile in milliseconds by the nearest rank.
    pub(crate) fn percentile(&mut self, percent: f64) -> f64 {
        self.0.sort_unstable();
        let rank = (self.0.len() as f64 * percent / 100.0).ceil() as usize;
        self.0[rank.max(1) - 1].as_secs_f64() * 1_000.0
    }
}

/// Reads ranges of an object, each to its last byte.
pub(crate) async fn read_many(
    store: Arc<dyn ObjectStore>,
    reads: usize,
) -> object_store::Result<Took> {
    let begun = Arc::new(AtomicUsize::new(0));
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (store, begun) = (store.clone(), begun.clone());
        readers.spawn(async move {
            let path = Server::OBJECT.into();
            let mut took = Vec::new();
            loop {
                let read = begun.fetch_add(1, Ordering::Relaxed) as u64;
                if read >= reads as u64 {
                    return Ok(took);
                }
                let start = read * LENGTH % (Server::SIZE - LENGTH);
                let range = start..start + LENGTH;
                let began = Instant::now();
                let bytes = store.get_range(&path, range.clone()).await?;
                took.push(began.elapsed());
                assert_eq!(bytes, server::content(range), "the bytes of the range");
            }
        });
    }
    let mut all = Vec::with_capacity(reads);
    while let Some(ended) = readers.join_next().await {
        let took: object_store::Result<Vec<Duration>> = ended.expect("a reader panicked");
        all.extend(took?);
    }
    Ok(Took(all))
}
