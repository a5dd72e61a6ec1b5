use std::{collections::VecDeque, mem, sync::Arc};

use crate::scheduler::{CommitJob, CommitToken, CommittedJob, OperatorState, RunningBulkJob};
use crate::{
    ledger::{Ledger, Op, Outcome},
    sizes::Sizes,
};
use hyper_delay_store::{Durability, fake::Fake};

/// A committer whose steps are taken by hand.
pub(super) struct Committer {
    ledger: Ledger<Fake>,
    /// Submitted, and not written yet.
    pub(super) jobs: Vec<CommitJob>,
    /// On disk, and not reported to the scheduler yet.
    pub(super) reported: Vec<CommittedJob>,
    /// The revisions that a cancel or a confirmed ack removed, in the order of the replies to come.
    pub(super) cancelled: VecDeque<u64>,
    pub(super) finished: VecDeque<u64>,
    /// The revisions that were moved, in the order of the replies to come.
    pub(super) moved: VecDeque<u64>,
}

impl Committer {
    pub(super) fn open(store: Arc<Fake>) -> Self {
        Self {
            ledger: Ledger::open(store, 300_000, Sizes::SMALL).unwrap(),
            jobs: Vec::new(),
            reported: Vec::new(),
            cancelled: VecDeque::new(),
            finished: VecDeque::new(),
            moved: VecDeque::new(),
        }
    }

    /// Returns what the scheduler of an opened store needs to know.
    pub(super) fn standing(&self) -> OperatorState {
        OperatorState {
            paused: self.ledger.paused().cloned().collect(),
            jobs: self
                .ledger
                .running_jobs()
                .map(|(id, job)| RunningBulkJob::from_stored(id, job))
                .collect(),
        }
    }

    pub(super) fn low_water(&self) -> u64 {
        self.ledger.low_water()
    }

    /// Returns whether everything that was submitted is written and reported.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.reported.is_empty()
    }

    /// Writes what was submitted. `now` is in Unix milliseconds.
    pub(super) fn commit(&mut self, now: u64) {
        for CommitJob {
            op,
            token,
            most_pending,
        } in mem::take(&mut self.jobs)
        {
            let refused = match &op {
                Op::Schedule(order) => {
                    let refused = self.ledger.quota_refusal(order, &most_pending, now);
                    refused.unwrap()
                }
                _ => None,
            };
            let outcome = refused.unwrap_or_else(|| self.ledger.apply(&op, now).unwrap());
            match (&op, &token, &outcome) {
                (Op::Cancel { .. }, _, Outcome::Cancelled(Some(seq))) => {
                    self.cancelled.push_back(*seq);
                }
                (Op::Move(_), _, Outcome::Moved(moved)) => self.moved.push_back(moved.seq),
                (Op::Finish(revision), CommitToken::Reply(_), Outcome::Applied(true)) => {
                    self.finished.push_back(revision.seq);
                }
                _ => {}
            }
            self.reported.push(CommittedJob { op, token, outcome });
        }
        self.ledger.commit(Durability::Synced, now).unwrap();
    }
}
