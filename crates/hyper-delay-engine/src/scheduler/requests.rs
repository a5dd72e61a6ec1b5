use std::{collections::BTreeMap, mem};

use super::{Job, Token};
use crate::ledger::{Op, PendingLimits, Sweep, SweepAct};

/// What was asked of the committer and is not on disk yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Asked for and not taken by the committer.
    jobs: Vec<Job>,
    /// When the tasks of the jobs under way will wait from, in Unix milliseconds, and the number of
    /// jobs for each time. Jobs need not be reported in their order: on a full disk some wait.
    times: BTreeMap<u64, usize>,
    /// How many of them park a task.
    parks: usize,
    /// Whether nothing was asked for since the low-water mark was last raised.
    is_idle: bool,
}

impl Requests {
    /// Asks for an operation.
    pub(super) fn submit(&mut self, op: Op, token: Token) {
        self.submit_within(op, token, PendingLimits::default());
    }

    /// Asks for an operation that may not make more pending tasks than this.
    pub(super) fn submit_within(&mut self, op: Op, token: Token, most_pending: PendingLimits) {
        self.parks += usize::from(matches!(op, Op::Park(_)));
        self.is_idle = matches!(op, Op::AdvanceLowWater(_));
        *self.times.entry(time(&op)).or_default() += 1;
        self.jobs.push(Job {
            op,
            token,
            most_pending,
        });
    }

    /// An operation under way is on disk, or refused.
    pub(super) fn committed(&mut self, op: &Op) {
        self.parks -= usize::from(matches!(op, Op::Park(_)));
        let time = time(op);
        if let Some(jobs) = self.times.get_mut(&time) {
            *jobs -= 1;
            if *jobs == 0 {
                self.times.remove(&time);
            }
        }
    }

    /// What was asked for since the last call.
    pub(super) fn take_jobs(&mut self) -> Vec<Job> {
        mem::take(&mut self.jobs)
    }

    /// Whether nothing was asked for since the low-water mark was last raised.
    pub(super) const fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// How many tasks are on their way to be parked.
    pub(super) const fn parks(&self) -> usize {
        self.parks
    }

    /// The earliest time (Unix milliseconds) from which a task under way will wait.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.times.first_key_value().map(|(time, _)| *time)
    }
}

/// Returns the time of the task on disk after an operation, or `u64::MAX` if the task does not wait
/// then.
fn time(op: &Op) -> u64 {
    match op {
        Op::Schedule(order) => order.at,
        Op::Retry { at, .. } | Op::Kick { at, .. } => *at,
        Op::Sweep(Sweep {
            act: SweepAct::Kick { at, .. },
            ..
        }) => *at,
        Op::Audited(audited) => time(&audited.op),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kick(at: u64) -> Op {
        Op::Kick {
            route: "route".into(),
            id: "id".into(),
            at,
        }
    }

    #[test]
    fn the_earliest_time_is_of_what_is_under_way() {
        let mut requests = Requests::default();
        for at in [7, 5, 9] {
            requests.submit(kick(at), Token::None);
        }
        assert_eq!(requests.take_jobs().len(), 3);
        assert_eq!(requests.earliest(), Some(5));
        requests.committed(&kick(9));
        assert_eq!(requests.earliest(), Some(5));
        requests.committed(&kick(5));
        assert_eq!(requests.earliest(), Some(7));
        assert!(!requests.is_empty());
        requests.committed(&kick(7));
        assert_eq!((requests.earliest(), requests.is_empty()), (None, true));
    }
}
