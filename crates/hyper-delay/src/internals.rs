//! Internals that the benchmarks of this package measure. They can change in any release.

use std::{path::Path, sync::Arc};

use crate::{
    StoreError,
    ledger::{Ledger, Op, Order},
    protocol::Compression,
    store::{Durability, Embedded, OpenOptions},
};

/// The load generator of `hyper-delay bench`.
#[cfg(feature = "cli")]
pub mod load {
    pub use crate::load::{Cpu, Figures, LoadError, Mode, Plan, Quantiles, Tally, Wire, run};
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
        let ledger = Ledger::open(store, DEDUPE_MILLIS)?;
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
        let order = Order {
            route: route.into(),
            id: id.into(),
            named: true,
            at: fire_at,
            fire_at,
            compression: Compression::None,
            payload: payload.into(),
            replace: false,
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
