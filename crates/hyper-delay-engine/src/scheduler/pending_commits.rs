use std::{collections::BTreeMap, mem};

use super::{CommitJob, CommitToken};
use crate::ledger::{Op, PendingLimits, Sweep, SweepAct};

/// The number of tasks on their way to be parked above which reading waits for the committer, so
/// that tasks that are read and due at once do not pile up in memory.
const MANY_PARKS: usize = 8 * 1024;

/// Operations that were submitted to the committer and are not on disk yet.
#[derive(Debug, Default)]
pub(super) struct PendingCommits {
    /// Submitted and not taken by the committer.
    jobs: Vec<CommitJob>,
    /// The due times of the tasks of the jobs in flight, in Unix milliseconds, and the number of
    /// jobs for each time. Jobs need not be reported in their order: on a full disk some wait.
    times: BTreeMap<u64, usize>,
    /// How many of them park a task.
    parks: usize,
    /// Whether nothing was submitted since the low-water mark was last raised.
    is_idle: bool,
}

impl PendingCommits {
    /// Submits an operation.
    pub(super) fn submit(&mut self, op: Op, token: CommitToken) {
        self.submit_with_limits(op, token, PendingLimits::default());
    }

    /// Submits an operation that may not make more pending tasks than this.
    pub(super) fn submit_with_limits(
        &mut self,
        op: Op,
        token: CommitToken,
        most_pending: PendingLimits,
    ) {
        self.parks += usize::from(matches!(op, Op::Park(_)));
        self.is_idle = matches!(op, Op::AdvanceLowWater(_));
        *self.times.entry(time(&op)).or_default() += 1;
        self.jobs.push(CommitJob {
            op,
            token,
            most_pending,
        });
    }

    /// An operation in flight is on disk, or refused.
    pub(super) fn remove_committed(&mut self, op: &Op) {
        self.parks -= usize::from(matches!(op, Op::Park(_)));
        let time = time(op);
        if let Some(jobs) = self.times.get_mut(&time) {
            *jobs -= 1;
            if *jobs == 0 {
                self.times.remove(&time);
            }
        }
    }

    /// Takes the jobs that were submitted since the last call.
    pub(super) fn take_jobs(&mut self) -> Vec<CommitJob> {
        mem::take(&mut self.jobs)
    }

    /// Whether nothing was submitted since the low-water mark was last raised.
    pub(super) const fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Whether reads must wait for the committer, because it has many tasks to park.
    pub(super) const fn has_many_parks(&self) -> bool {
        self.parks >= MANY_PARKS
    }

    /// The earliest due time (Unix milliseconds) of a task whose change is in flight.
    pub(super) fn earliest_time(&self) -> Option<u64> {
        self.times.first_key_value().map(|(time, _)| *time)
    }
}

/// Returns the time of the task on disk after an operation, or `u64::MAX` if the task does not wait
/// then.
fn time(op: &Op) -> u64 {
    match op {
        Op::Schedule(order) => order.at,
        Op::Retry { at, .. } | Op::Kick { at, .. } => *at,
        Op::Move(wanted) => wanted.due.at(),
        Op::Sweep(Sweep {
            act: SweepAct::Kick { at, .. },
            ..
        }) => *at,
        Op::Sweep(Sweep {
            act: SweepAct::Move(moved),
            ..
        }) => moved.earliest(),
        Op::Audited(audited) => time(&audited.op),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::TaskRevision;

    fn kick(at: u64) -> Op {
        Op::Kick {
            route: "route".into(),
            id: "id".into(),
            at,
        }
    }

    #[test]
    fn the_earliest_time_is_that_of_the_jobs_in_flight() {
        let mut requests = PendingCommits::default();
        for at in [7, 5, 9] {
            requests.submit(kick(at), CommitToken::None);
        }
        assert_eq!(requests.take_jobs().len(), 3);
        assert_eq!(requests.earliest_time(), Some(5));
        requests.remove_committed(&kick(9));
        assert_eq!(requests.earliest_time(), Some(5));
        requests.remove_committed(&kick(5));
        assert_eq!(requests.earliest_time(), Some(7));
        assert!(!requests.is_empty());
        requests.remove_committed(&kick(7));
        assert_eq!(
            (requests.earliest_time(), requests.is_empty()),
            (None, true)
        );
    }

    #[test]
    fn reading_waits_while_too_many_tasks_are_on_their_way_to_be_parked() {
        let park = || {
            Op::Park(TaskRevision {
                route: "route".into(),
                id: "id".into(),
                seq: 1,
                attempt: 0,
            })
        };
        let mut requests = PendingCommits::default();
        for _ in 0..MANY_PARKS {
            assert!(!requests.has_many_parks());
            requests.submit(park(), CommitToken::None);
        }
        assert!(requests.has_many_parks());
        requests.remove_committed(&park());
        assert!(!requests.has_many_parks());
    }
}
