use alloc::vec::Vec;
use core::{error, fmt};

use super::{Failed, NoCandidates};

/// Why a race has no winner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaceError<A, E> {
    /// There was nothing to race.
    NoCandidates,
    /// Every attempt that was started has failed, and no more were to be had, or allowed: each one's
    /// failure, in the order of the candidates.
    AllFailed(Vec<Failed<A, E>>),
    /// One failed in a way that is fatal to all; the others that ran were cancelled.
    #[non_exhaustive]
    Fatal {
        /// The one.
        fatal: Failed<A, E>,
        /// Those that had failed before, in the order of the candidates.
        failed: Vec<Failed<A, E>>,
    },
    /// The deadline passed; those that ran were cancelled.
    #[non_exhaustive]
    Deadline {
        /// Those that had failed before, in the order of the candidates.
        failed: Vec<Failed<A, E>>,
    },
}

impl<A, E> RaceError<A, E> {
    /// Every failure that is not fatal, in the order of the candidates.
    #[must_use]
    pub fn failed(&self) -> &[Failed<A, E>] {
        match self {
            Self::NoCandidates => &[],
            Self::AllFailed(failed) | Self::Fatal { failed, .. } | Self::Deadline { failed } => {
                failed
            }
        }
    }
}

impl<A, E: fmt::Display> fmt::Display for RaceError<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCandidates => return NoCandidates.fmt(f),
            Self::AllFailed(failed) if failed.is_empty() => {
                return f.write_str("no attempt was left to go on");
            }
            Self::AllFailed(failed) => match failed.len() {
                1 => f.write_str("the only attempt that was made failed")?,
                count => write!(f, "all {count} attempts that were made failed")?,
            },
            Self::Fatal { fatal, .. } => {
                let Failed { place, failure, .. } = fatal;
                return write!(f, "attempt #{place} failed, which is fatal: {failure}");
            }
            Self::Deadline { .. } => f.write_str("no attempt has won within the deadline")?,
        }
        list(f, self.failed())
    }
}

/// What failed, after a colon, if anything did.
pub(super) fn list<A, E: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    failed: &[Failed<A, E>],
) -> fmt::Result {
    for (index, Failed { place, failure, .. }) in failed.iter().enumerate() {
        let separator = if index == 0 { ':' } else { ';' };
        write!(f, "{separator} #{place}: {failure}")?;
    }
    Ok(())
}

/// The source is the fatal error, or else that of the first candidate that has one of its own.
impl<A: fmt::Debug, E: error::Error + 'static> error::Error for RaceError<A, E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        let fatal = match self {
            Self::Fatal { fatal, .. } => Some(fatal),
            _ => None,
        };
        let mut failures = fatal.into_iter().chain(self.failed());
        failures.find_map(|failed| failed.failure.error().map(|error| error as _))
    }
}
