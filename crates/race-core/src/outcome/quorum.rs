use alloc::vec::Vec;
use core::mem;

use super::{
    Failed, QuorumError, Tally, Won,
    goal::{Goal, Missed},
};

/// The goal of `quorum`: a number of accepted attempts.
#[derive(Clone, Debug)]
pub struct Many<A, V> {
    needed: usize,
    accepted: Vec<Won<A, V>>,
}

impl<A, V> Many<A, V> {
    pub(super) fn new(needed: usize) -> Self {
        let accepted = Vec::new();
        Self { needed, accepted }
    }
}

impl<A, V, E> Goal<A, V, E> for Many<A, V> {
    type Value = Vec<Won<A, V>>;
    type Error = QuorumError<A, V, E>;

    fn reached_at_once(&mut self) -> Option<Vec<Won<A, V>>> {
        (self.needed == 0).then(Vec::new)
    }

    fn accept(&mut self, won: Won<A, V>) -> Option<Vec<Won<A, V>>> {
        self.accepted.push(won);
        (self.accepted.len() >= self.needed).then(|| mem::take(&mut self.accepted))
    }

    fn is_in_reach(&self, at_most: impl FnOnce() -> Option<usize>) -> bool {
        let missing = self.needed.saturating_sub(self.accepted.len());
        at_most().is_none_or(|most| most >= missing)
    }

    fn missed(&mut self, why: Missed, failed: Vec<Failed<A, E>>) -> QuorumError<A, V, E> {
        let refused = match why {
            Missed::OutOfReach(refused) => refused,
            _ => None,
        };
        let tally = Tally {
            needed: self.needed,
            accepted: mem::take(&mut self.accepted),
            failed,
            refused,
        };
        match why {
            Missed::NoCandidates => QuorumError::NoCandidates,
            Missed::OutOfReach(_) => QuorumError::OutOfReach(tally),
            Missed::Fatal => QuorumError::Fatal(tally),
            Missed::Deadline => QuorumError::Deadline(tally),
        }
    }
}
