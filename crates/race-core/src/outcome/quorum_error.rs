use alloc::{boxed::Box, string::ToString as _, vec::Vec};
use core::{error, fmt};

use super::{BoxedRaceError, Failed, Won, failed::write_list};
use crate::observe::Refusal;

/// The progress of a race that did not reach its quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally<A, V, E> {
    /// The size of the quorum.
    pub needed: usize,
    /// The accepted attempts, in the order in which they finished.
    pub accepted: Vec<Won<A, V>>,
    /// The failures, in the order in which they happened. A fatal one is the last.
    pub failed: Vec<Failed<A, E>>,
    /// What refused further starts; `None` if the candidates were used up, or if a failure or the
    /// deadline ended the race.
    pub refused: Option<Refusal>,
}

/// Why a race did not reach its quorum.
///
/// It is an [`Error`](core::error::Error) for every attempt error that is `Debug + Display`; see
/// [`RaceError`](crate::RaceError).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumError<A, V, E> {
    /// There were no candidates.
    NoCandidates,
    /// Too many attempts failed, there were too few candidates, or too few can start before the
    /// deadline. The attempts that were running were cancelled.
    OutOfReach(Tally<A, V, E>),
    /// A failure, the last one in the tally, was fatal. The attempts that were running were
    /// cancelled.
    Fatal(Tally<A, V, E>),
    /// The deadline passed. The attempts that were running were cancelled.
    Deadline(Tally<A, V, E>),
}

impl<A, V, E> QuorumError<A, V, E> {
    /// Returns the progress of the race; `None` if there were no candidates.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally<A, V, E>> {
        match self {
            Self::NoCandidates => None,
            Self::OutOfReach(tally) | Self::Fatal(tally) | Self::Deadline(tally) => Some(tally),
        }
    }

    /// Returns the progress of the race; `None` if there were no candidates.
    #[must_use]
    pub fn into_tally(self) -> Option<Tally<A, V, E>> {
        match self {
            Self::NoCandidates => None,
            Self::OutOfReach(tally) | Self::Fatal(tally) | Self::Deadline(tally) => Some(tally),
        }
    }

    /// Returns the failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn into_failed(self) -> Vec<Failed<A, E>> {
        self.into_tally().map_or(Vec::new(), |tally| tally.failed)
    }

    /// Returns the errors of the attempts, in the order in which they failed.
    #[must_use]
    pub fn into_errors(self) -> Vec<E> {
        let failed = self.into_failed().into_iter();
        failed
            .filter_map(|failed| failed.failure.into_error())
            .collect()
    }

    /// Returns the last error that an attempt returned, which is the fatal one if there is one.
    /// `None` if no attempt returned an error: there were no candidates, or all attempts timed out.
    #[must_use]
    pub fn into_last_error(self) -> Option<E> {
        let failed = self.into_failed().into_iter().rev();
        let mut errors = failed.filter_map(|failed| failed.failure.into_error());
        errors.next()
    }

    /// Boxes the errors, so that their chains stay reachable as sources. Arguments and accepted
    /// outputs are dropped.
    #[must_use]
    pub fn boxed(self) -> BoxedRaceError
    where
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let reason = Reason(&self).to_string();
        BoxedRaceError::new(&reason, 0, self.into_failed())
    }
}

/// Why a race did not reach its quorum, without the failures.
struct Reason<'a, A, V, E>(&'a QuorumError<A, V, E>);

impl<A, V, E> fmt::Display for Reason<'_, A, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tally) = self.0.tally() else {
            return f.write_str("no candidates to race: provide at least one");
        };
        match self.0 {
            QuorumError::Fatal(_) => {
                let index = tally.failed.last().map_or(0, |fatal| fatal.index);
                write!(f, "attempt #{index} failed fatally, with ")?;
            }
            QuorumError::Deadline(_) => f.write_str("the deadline passed, with ")?,
            _ => f.write_str("the quorum is out of reach, with ")?,
        }
        let (accepted, needed) = (tally.accepted.len(), tally.needed);
        write!(f, "{accepted} of {needed} attempts accepted")?;
        match tally.refused {
            Some(refusal) => write!(f, " and further ones refused by {refusal}"),
            None => Ok(()),
        }
    }
}

impl<A, V, E: fmt::Display> fmt::Display for QuorumError<A, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reason(self).fmt(f)?;
        match self.tally() {
            Some(tally) => write_list(f, 0, &tally.failed),
            None => Ok(()),
        }
    }
}

impl<A, V, E> error::Error for QuorumError<A, V, E>
where
    A: fmt::Debug,
    V: fmt::Debug,
    E: fmt::Debug + fmt::Display,
{
}
