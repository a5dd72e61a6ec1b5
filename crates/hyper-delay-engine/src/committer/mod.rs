//! Group commit: all jobs that arrive while a batch is written share the next one.
//!
//! Two threads work at the same time. The [`Applier`] applies jobs to the ledger and collects their
//! changes in a group; the [`BatchWriter`] writes the group before it as one batch, syncs once, and
//! then reports its jobs as committed. So a single client waits for one sync, many clients share
//! one, and neither the processor nor the disk waits for the other.

mod applier;
mod batch_writer;
mod commit_delay;
mod disk_admission;
mod full_disk;
mod group;
mod group_builder;
mod group_slot;
mod log_rate_limit;
mod sync_timer;

use std::sync::{Arc, mpsc::Receiver};

use crate::{clock::Clock, ledger::Ledger, scheduler::CommitJob};
pub use applier::Applier;
pub use batch_writer::BatchWriter;
pub use group::Group;
pub use group_builder::GroupBuilder;
use group_slot::GroupSlot;
use hyper_delay_config::Sync;
use hyper_delay_store::Store;

/// Returns the two halves of a committer.
pub fn committer<S: Store>(
    store: Arc<S>,
    ledger: Ledger<S>,
    sync: Sync,
    jobs: Receiver<Vec<CommitJob>>,
    clock: Clock,
) -> (Applier<S>, BatchWriter<S>) {
    let slot = Arc::new(GroupSlot::default());
    let writer = BatchWriter::new(store.clone(), sync, ledger.sizes(), slot.clone());
    let applier = Applier::new(store, ledger, jobs, clock, slot);
    (applier, writer)
}

#[cfg(test)]
mod tests;
