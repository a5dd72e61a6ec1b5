//! The journal alone.

use std::{path::Path, time::Duration};

use hyper_delay::internals::JournalAlone;
use testkit::Etcd;

use crate::Failure;

/// The size of the largest entry that a leader closes by default, in bytes.
pub(crate) const ENTRY: usize = 64 << 10;

/// As many as a cluster has by default.
pub(crate) const SHARDS: u16 = 8;

/// How long it is measured.
const TIME: Duration = Duration::from_secs(4);

/// An etcd of three members that keeps journals, and nothing else.
pub(crate) struct Journal {
    journal: JournalAlone,
    _etcd: Etcd,
}

impl Journal {
    /// Starts it in this folder.
    pub(crate) async fn start(folder: &Path, shards: u16) -> Result<Self, Failure> {
        let etcd = Etcd::start(folder, 3, &[], "http");
        let journal = JournalAlone::new(etcd.urls(), shards).await?;
        Ok(Self {
            journal,
            _etcd: etcd,
        })
    }

    /// Appends entries for some seconds. Returns how long each took, sorted.
    pub(crate) async fn append(&mut self) -> Result<Vec<Duration>, Failure> {
        let mut took = self.journal.append(ENTRY, TIME).await?;
        took.sort_unstable();
        Ok(took)
    }
}

/// Returns how many entries there were in a second.
pub(crate) fn rate(took: &[Duration]) -> f64 {
    took.len() as f64 / TIME.as_secs_f64()
}

/// Measures one writer, and one for each shard.
pub(crate) async fn run() -> Result<(), Failure> {
    for shards in [1, SHARDS] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let took = Journal::start(folder.path(), shards)
            .await?
            .append()
            .await?;
        println!(
            "{shards} shards: {:.0} entries/s of {} KiB, p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
            rate(&took),
            ENTRY >> 10,
            took[took.len() / 2],
            took[took.len() * 99 / 100],
            took[took.len() - 1],
        );
    }
    Ok(())
}
