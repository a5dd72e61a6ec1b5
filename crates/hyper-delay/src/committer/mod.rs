//! Group commit: one thread writes for all connections.
//!
//! It writes all jobs that arrived during the last commit as one batch, syncs once, and then
//! reports them as committed. So a single client waits for one sync, and many clients share one.

mod admission;
mod dirty;
mod hold;
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
use admission::Admission;
use dirty::Dirty;
use pace::Pace;

/// A batch with this many jobs takes no further group of jobs.
const GROUP: usize = 4096;

/// A batch with this many payload bytes takes no further group of jobs.
const GROUP_BYTES: usize = 4 << 20;

/// Commits jobs until all senders are gone, then syncs in every mode.
///
/// # Errors
///
/// The store failed. Jobs that were not reported may be on disk at the next start, or not.
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
    let mut admission = Admission::default();
    // The reserve starts to grow before another program can fill the disk.
    store.room(ledger.tasks()?)?;
    loop {
        let first = match dirty.wait() {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wait) => jobs.recv_timeout(wait),
        };
        let mut first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                store.sync()?;
                dirty.synced();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let mut room = store.room(ledger.tasks()?)?;
        if room.is_exhausted() && !first.iter().all(is_schedule) {
            first = hold::until_room(store, &ledger, first, jobs, &mut tell)?;
            room = store.room(ledger.tasks()?)?;
        }
        admission.begin(room);
        let now = clock.now().wall_millis();
        let mut committed = Vec::with_capacity(first.len());
        let mut bytes = 0;
        let mut group = Some(first);
        while let Some(jobs_of_one) = group {
            for job in jobs_of_one {
                bytes += weight(&job.op);
                committed.push(apply(&mut ledger, &mut admission, job, now)?);
            }
            if committed.len() >= GROUP || bytes >= GROUP_BYTES || room.is_exhausted() {
                break;
            }
            group = pace.next(jobs, committed.len());
        }
        pace.begins(committed.len());
        ledger.commit(durability, now)?;
        pace.ended();
        admission.end();
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

fn apply<S: Store>(
    ledger: &mut Ledger<S>,
    admission: &mut Admission,
    job: Job,
    now: u64,
) -> Result<Committed, StoreError> {
    let Job { mut op, token } = job;
    let outcome: Outcome = match &op {
        Op::Schedule(order) if !admission.admits(order) => ledger.refuse(order, now)?,
        op => ledger.apply(op, now)?,
    };
    if let Op::Schedule(order) = &mut op {
        order.payload = Box::default();
    }
    Ok(Committed { op, token, outcome })
}

const fn is_schedule(job: &Job) -> bool {
    matches!(job.op, Op::Schedule(_))
}

fn weight(op: &Op) -> usize {
    match op {
        Op::Schedule(order) => order.payload.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
