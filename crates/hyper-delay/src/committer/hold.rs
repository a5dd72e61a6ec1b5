//! Waiting for room on a disk that is full to its last byte, reserve included.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::{
    ledger::{Ledger, Outcome},
    scheduler::{Committed, Job},
    store::{Store, StoreError},
};

/// How often the disk is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The least time between two lines of the log.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// Keeps changes of stored tasks until the disk has room for them. Schedules are refused meanwhile,
/// at once: whether they repeat what is stored depends on changes that wait.
///
/// Returns the changes, in order.
///
/// # Errors
///
/// If the store fails, or the server is to end: `jobs` has an empty group, or no sender.
pub(super) fn until_room<S: Store>(
    store: &S,
    ledger: &Ledger<S>,
    first: Vec<Job>,
    jobs: &Receiver<Vec<Job>>,
    mut tell: impl FnMut(Vec<Committed>),
) -> Result<Vec<Job>, StoreError> {
    let mut held = Vec::new();
    let mut more = first;
    let mut said: Option<Instant> = None;
    loop {
        let (schedules, changes): (Vec<Job>, Vec<Job>) =
            more.into_iter().partition(super::is_schedule);
        held.extend(changes);
        if !schedules.is_empty() {
            tell(schedules.into_iter().map(refused).collect());
        }
        if !store.room(ledger.tasks()?)?.is_exhausted() {
            return Ok(held);
        }
        if said.is_none_or(|said| said.elapsed() >= LOG_PAUSE) {
            said = Some(Instant::now());
            tracing::error!(
                waiting = held.len(),
                "the disk of data_dir is full and its reserve is used up: free some; acks and \
                 retries wait until then"
            );
        }
        more = match jobs.recv_timeout(LOOK) {
            Ok(group) if group.is_empty() => return Err(ending(held.len())),
            Ok(group) => group,
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return Err(ending(held.len())),
        };
    }
}

fn refused(Job { op, token }: Job) -> Committed {
    Committed {
        op,
        token,
        outcome: Outcome::DiskFull,
    }
}

fn ending(waiting: usize) -> StoreError {
    StoreError::new(
        "write",
        format!(
            "the disk of data_dir is full and its reserve is used up: {waiting} acks and retries \
             are not written, and their tasks are delivered again; free some"
        ),
    )
}
