//! Group commit: one thread writes for all.
//!
//! It takes whatever jobs have come by the time the disk is free, writes them as one batch, syncs once, and only
//! then tells that they are done. So one client waits for one sync, and many share it.

mod dirty;
mod pace;

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use crate::{
    clock::Clock,
    config::Sync,
    ledger::{Ledger, Op, Outcome},
    scheduler::{Committed, Job},
    store::{Durability, Store, StoreError},
};
use dirty::Dirty;
use pace::Pace;

/// Jobs in one batch, at most, beyond those that came together.
const GROUP: usize = 4096;

/// Payload bytes in one batch, at most, likewise.
const GROUP_BYTES: usize = 4 << 20;

/// Writes what comes until nobody can send any more, then syncs, whatever `sync` says.
///
/// # Errors
///
/// When the store fails. What was not told to be committed may be there at the next start, or not.
pub(crate) fn run<S: Store>(
    store: &S,
    mut ledger: Ledger<S>,
    sync: Sync,
    jobs: &Receiver<Vec<Job>>,
    clock: &dyn Clock,
    mut tell: impl FnMut(Vec<Committed>),
) -> Result<(), StoreError> {
    let durability = match sync {
        Sync::Always => Durability::Synced,
        Sync::Interval(_) | Sync::Never => Durability::Written,
    };
    let mut dirty = Dirty::new(sync);
    let mut pace = Pace::default();
    loop {
        let first = match dirty.wait() {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wait) => jobs.recv_timeout(wait),
        };
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                store.sync()?;
                dirty.synced();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let now = clock.now().wall_millis();
        let mut committed = Vec::with_capacity(first.len());
        let mut bytes = 0;
        let mut group = Some(first);
        while let Some(jobs_of_one) = group {
            for job in jobs_of_one {
                bytes += weight(&job.op);
                committed.push(apply(&mut ledger, job, now)?);
            }
            if committed.len() >= GROUP || bytes >= GROUP_BYTES {
                break;
            }
            group = pace.next(jobs, committed.len());
        }
        pace.begins(committed.len());
        ledger.commit(durability, now)?;
        pace.ended();
        dirty.written();
        tracing::trace!(jobs = committed.len(), bytes, "committed");
        tell(committed);
        if dirty.wait() == Some(Duration::ZERO) {
            store.sync()?;
            dirty.synced();
        }
    }
    store.sync()
}

fn apply<S: Store>(ledger: &mut Ledger<S>, job: Job, now: u64) -> Result<Committed, StoreError> {
    let Job { mut op, token } = job;
    let outcome: Outcome = ledger.apply(&op, now)?;
    if let Op::Schedule(order) = &mut op {
        order.payload = Box::default();
    }
    Ok(Committed { op, token, outcome })
}

fn weight(op: &Op) -> usize {
    match op {
        Op::Schedule(order) => order.payload.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
