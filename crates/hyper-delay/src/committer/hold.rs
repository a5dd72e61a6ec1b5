//! Jobs that wait for room on a disk that is full to its last byte, reserve included.

use std::time::{Duration, Instant};

use crate::{
    ledger::Outcome,
    scheduler::{Committed, Job},
    store::StoreError,
};

/// The least time between two lines of the log.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// Changes of stored tasks that wait for room.
#[derive(Debug, Default)]
pub(super) struct Hold {
    changes: Vec<Job>,
    logged: Option<Instant>,
}

impl Hold {
    /// How often the disk is looked at.
    pub(super) const LOOK: Duration = Duration::from_millis(50);

    /// Adds the changes among these jobs. Returns the schedules, which are refused.
    pub(super) fn add(&mut self, jobs: Vec<Job>) -> Vec<Committed> {
        let (schedules, changes): (Vec<Job>, Vec<Job>) =
            jobs.into_iter().partition(Job::is_schedule);
        self.changes.extend(changes);
        schedules.into_iter().map(refused).collect()
    }

    /// Returns the changes in the order in which they came.
    pub(super) fn into_changes(self) -> Vec<Job> {
        self.changes
    }

    /// Logs that changes wait, at most once in a while.
    pub(super) fn log(&mut self) {
        if self
            .logged
            .is_none_or(|logged| logged.elapsed() >= LOG_PAUSE)
        {
            self.logged = Some(Instant::now());
            tracing::error!(
                waiting = self.changes.len(),
                "the disk of data_dir is full and its reserve is used up: free some; acks and \
                 retries wait until then"
            );
        }
    }

    /// Returns the error of a server that ends while changes wait.
    pub(super) fn ending(&self) -> StoreError {
        let waiting = self.changes.len();
        StoreError::new(
            "write",
            format!(
                "the disk of data_dir is full and its reserve is used up: free some; unwritten \
                 acks, retries and cancels: {waiting}; their tasks are delivered again"
            ),
        )
    }
}

fn refused(Job { op, token }: Job) -> Committed {
    Committed {
        op,
        token,
        outcome: Outcome::DiskFull,
    }
}
