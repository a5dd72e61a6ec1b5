//! Group commit: all jobs that arrive while a batch is written share the next one.
//!
//! Two threads work at the same time. The [`Applier`] applies jobs to the ledger and collects their
//! changes in a group; the [`Writer`] writes the group before it as one batch, syncs once, and then
//! reports its jobs as committed. So a single client waits for one sync, many clients share one,
//! and neither the processor nor the disk waits for the other.

mod admission;
mod applier;
mod dirty;
mod group;
mod handover;
mod hold;
mod log_pause;
mod pace;
mod stage;
mod writer;

use std::sync::{Arc, mpsc::Receiver};

use crate::{clock::Clock, ledger::Ledger, scheduler::Job};
pub use applier::Applier;
pub use group::Group;
use handover::Handover;
use hyper_delay_config::Sync;
use hyper_delay_store::Store;
pub use stage::Stage;
pub use writer::Writer;

/// Returns the two halves of a committer.
pub fn committer<S: Store>(
    store: Arc<S>,
    ledger: Ledger<S>,
    sync: Sync,
    jobs: Receiver<Vec<Job>>,
    clock: Clock,
) -> (Applier<S>, Writer<S>) {
    let handover = Arc::new(Handover::default());
    let writer = Writer::new(store.clone(), sync, ledger.sizes(), handover.clone());
    let applier = Applier::new(store, ledger, jobs, clock, handover);
    (applier, writer)
}

#[cfg(test)]
mod tests;
