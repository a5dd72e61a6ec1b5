//! Jobs that wait for room on a disk that is full to its last byte, reserve included.

use std::time::Duration;

use super::log_rate_limit::LogRateLimit;
use crate::{
    ledger::Outcome,
    scheduler::{CommitJob, CommittedJob},
};
use hyper_delay_store::StoreError;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::committer::hold";

/// Changes of stored tasks that wait for room.
#[derive(Debug, Default)]
pub(super) struct FullDiskQueue {
    changes: Vec<CommitJob>,
    pause: LogRateLimit,
}

impl FullDiskQueue {
    /// Interval between checks of the disk.
    pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(50);

    /// Adds the changes among these jobs. Returns the schedules, which are refused, and the marks,
    /// which are left out.
    pub(super) fn add(&mut self, jobs: Vec<CommitJob>) -> Vec<CommittedJob> {
        let waits = |job: &CommitJob| !job.is_schedule() && !job.is_mark();
        let (changes, others): (Vec<CommitJob>, Vec<CommitJob>) = jobs.into_iter().partition(waits);
        self.changes.extend(changes);
        others.into_iter().map(refuse).collect()
    }

    /// Whether no change waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the changes in the order in which they came.
    pub(super) fn into_changes(self) -> Vec<CommitJob> {
        self.changes
    }

    /// Logs that changes wait, at a limited rate.
    pub(super) fn log(&mut self) {
        if self.pause.may_log() {
            self.pause.note_line();
            tracing::error!(
                target: TARGET,
                waiting = self.changes.len(),
                "the disk of data_dir is full and its reserve is used up, or its file system \
                 reports no free bytes: look at df, and free some; acks and retries wait until then",
            );
        }
    }

    /// Returns the error of a server that ends while changes wait.
    pub(super) fn shutdown_error(&self) -> StoreError {
        let waiting = self.changes.len();
        StoreError::new(
            "write",
            format!(
                "the disk of data_dir is full and its reserve is used up, or its file system reports \
                 no free bytes: look at df, and free some; unwritten acks, retries and cancels: \
                 {waiting}; their tasks are delivered again"
            ),
        )
    }
}

fn refuse(job: CommitJob) -> CommittedJob {
    let outcome = match job.is_schedule() {
        true => Outcome::DiskFull,
        false => Outcome::Applied(false),
    };
    let CommitJob { op, token, .. } = job;
    CommittedJob { op, token, outcome }
}
