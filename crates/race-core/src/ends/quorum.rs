use alloc::vec::Vec;
use core::{error, fmt, mem, pin::Pin};

use super::{
    Failed, NoCandidates, Won,
    error::list,
    goal::{Goal, Lost},
};

/// The first so many that are accepted.
#[derive(Clone, Debug)]
pub struct Many<A, V> {
    needed: usize,
    accepted: Vec<Won<A, V>>,
}

impl<A, V> Many<A, V> {
    pub(crate) fn new(needed: usize) -> Self {
        let accepted = Vec::new();
        Self { needed, accepted }
    }
}

impl<R, A, V, E> Goal<R, A, V, E> for Many<A, V> {
    type Output = Result<Vec<Won<A, V>>, QuorumError<A, V, E>>;
    type Reached = Vec<Won<A, V>>;

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

    fn won(&mut self, reached: Vec<Won<A, V>>, _: Pin<&mut Option<R>>) -> Self::Output {
        Ok(reached)
    }

    fn lost(
        &mut self,
        why: Lost<A, E>,
        failed: Vec<Failed<A, E>>,
        _: Pin<&mut Option<R>>,
    ) -> Self::Output {
        let tally = Tally {
            needed: self.needed,
            accepted: mem::take(&mut self.accepted),
            failed,
        };
        Err(match why {
            Lost::Empty => QuorumError::NoCandidates,
            Lost::OutOfReach => QuorumError::OutOfReach(tally),
            Lost::Fatal(fatal) => QuorumError::Fatal { fatal, tally },
            Lost::Deadline => QuorumError::Deadline(tally),
        })
    }
}

/// How far a race came that was to find a quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally<A, V, E> {
    /// How many had to be accepted.
    pub needed: usize,
    /// Those that were, in the order in which they finished.
    pub accepted: Vec<Won<A, V>>,
    /// Those that failed, in the order of the candidates.
    pub failed: Vec<Failed<A, E>>,
}

/// Why a race has found no quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumError<A, V, E> {
    /// There was nothing to race.
    NoCandidates,
    /// Too many failed, or there were too few; those that ran were cancelled.
    OutOfReach(Tally<A, V, E>),
    /// One failed in a way that is fatal to all; the others that ran were cancelled.
    #[non_exhaustive]
    Fatal {
        /// The one.
        fatal: Failed<A, E>,
        /// How far it had come.
        tally: Tally<A, V, E>,
    },
    /// The deadline passed; those that ran were cancelled.
    Deadline(Tally<A, V, E>),
}

impl<A, V, E> QuorumError<A, V, E> {
    /// How far it came, if it began.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally<A, V, E>> {
        match self {
            Self::NoCandidates => None,
            Self::OutOfReach(tally) | Self::Fatal { tally, .. } | Self::Deadline(tally) => {
                Some(tally)
            }
        }
    }
}

impl<A, V, E: fmt::Display> fmt::Display for QuorumError<A, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tally) = self.tally() else {
            return NoCandidates.fmt(f);
        };
        match self {
            Self::Fatal { fatal, .. } => {
                let Failed { place, failure, .. } = fatal;
                return write!(f, "attempt #{place} failed, which is fatal: {failure}");
            }
            Self::Deadline(_) => f.write_str("the deadline passed with ")?,
            _ => f.write_str("no quorum is left to be had, with ")?,
        }
        let (accepted, needed) = (tally.accepted.len(), tally.needed);
        write!(f, "{accepted} of {needed}")?;
        list(f, &tally.failed)
    }
}

/// The source is the fatal error, or else that of the first candidate that has one of its own.
impl<A, V, E> error::Error for QuorumError<A, V, E>
where
    A: fmt::Debug,
    V: fmt::Debug,
    E: error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        let fatal = match self {
            Self::Fatal { fatal, .. } => Some(fatal),
            _ => None,
        };
        let failed = self.tally().into_iter().flat_map(|tally| &tally.failed);
        let mut failures = fatal.into_iter().chain(failed);
        failures.find_map(|failed| failed.failure.error().map(|error| error as _))
    }
}
