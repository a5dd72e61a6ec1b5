use std::{collections::VecDeque, mem};

use super::{Job, Token};
use crate::ledger::Op;

/// What was asked of the committer and is not on disk yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Asked for and not taken by the committer.
    jobs: Vec<Job>,
    /// For each job under way, in their order: when its task will wait from, in Unix milliseconds.
    times: VecDeque<u64>,
    /// How many of them park a task.
    parks: usize,
}

impl Requests {
    /// Asks for an operation.
    pub(super) fn submit(&mut self, op: Op, token: Token) {
        self.parks += usize::from(matches!(op, Op::Park(_)));
        self.times.push_back(match &op {
            Op::Schedule(order) => order.at,
            Op::Retry { at, .. } | Op::Kick { at, .. } => *at,
            _ => u64::MAX,
        });
        self.jobs.push(Job { op, token });
    }

    /// The earliest operation under way is on disk.
    pub(super) fn committed(&mut self, op: &Op) {
        self.parks -= usize::from(matches!(op, Op::Park(_)));
        self.times.pop_front();
    }

    /// What was asked for since the last call.
    pub(super) fn take_jobs(&mut self) -> Vec<Job> {
        mem::take(&mut self.jobs)
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
        self.times.iter().min().copied()
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
        requests.committed(&kick(7));
        requests.committed(&kick(5));
        assert_eq!(requests.earliest(), Some(9));
        assert!(!requests.is_empty());
        requests.committed(&kick(9));
        assert_eq!((requests.earliest(), requests.is_empty()), (None, true));
    }
}
