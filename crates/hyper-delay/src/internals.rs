//! Internals that the benchmarks of this package measure, of which its manual is made, and which
//! are fuzzed. They can change in any release.

use std::{path::Path, sync::Arc};

use crate::StoreError;
use hyper_delay_engine::{
    ledger::{Ledger, Op, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_fjall::{Embedded, OpenOptions};
use hyper_delay_protocol::{Compression, Headers, Line};
use hyper_delay_store::Durability;

/// The load generator of `hyper-delay bench`.
#[cfg(feature = "cli")]
pub mod load {
    pub use crate::load::{
        Cpu, Figures, LoadError, LoadMode as Mode, LoadPlan as Plan, LoadTally as Tally, Quantiles,
        Wire, run,
    };
}

#[cfg(feature = "cli")]
pub use crate::command::command_line;

#[cfg(feature = "cluster")]
pub use hyper_delay_cluster::log::etcd::standalone::StandaloneJournal as JournalAlone;

/// Reads a request over HTTP: the operation with that number, each part of whose path is `name`.
/// Returns the path and the line that it becomes. `None` if it is refused.
#[must_use]
pub fn read_http(
    choice: usize,
    name: &str,
    query: &str,
    body: &[u8],
) -> Option<(&'static str, Line)> {
    hyper_delay_server::http::read(choice, name, query, body)
}

/// Decompresses a payload to at most `limit` bytes.
///
/// # Errors
///
/// If it is no such payload, or would be longer.
pub fn inflate(
    compression: Compression,
    payload: &[u8],
    limit: usize,
) -> Result<Vec<u8>, impl std::error::Error> {
    hyper_delay_protocol::inflate::inflate(compression, payload, limit)
}

/// Synced group commits of schedules: the ledger and the store without a server.
#[derive(Debug)]
pub struct GroupCommits {
    ledger: Ledger<Embedded>,
}

impl GroupCommits {
    /// Opens the store in `directory`, or creates it.
    ///
    /// # Errors
    ///
    /// If the store cannot be opened.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        const DEDUPE_MILLIS: u64 = 300_000;
        let store = Arc::new(Embedded::open_with(directory, OpenOptions::default())?);
        let ledger = Ledger::open(store, DEDUPE_MILLIS, Sizes::SERVER)?;
        Ok(Self { ledger })
    }

    /// Adds a task to the next commit. `fire_at` and `now` are Unix milliseconds.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn schedule(
        &mut self,
        route: &str,
        id: &str,
        fire_at: u64,
        payload: &[u8],
        now: u64,
    ) -> Result<(), StoreError> {
        let order = ScheduleOrder {
            route: route.into(),
            id: id.into(),
            named: true,
            at: fire_at,
            fire_at,
            delay_ms: None,
            compression: Compression::None,
            payload: payload.into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        self.ledger.apply(&Op::Schedule(order), now)?;
        Ok(())
    }

    /// Writes and syncs the tasks that were added since the last commit.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn commit(&mut self, now: u64) -> Result<(), StoreError> {
        self.ledger.commit(Durability::Synced, now)
    }
}
