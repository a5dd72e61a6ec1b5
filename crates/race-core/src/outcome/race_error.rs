use alloc::{boxed::Box, string::ToString as _, vec::Vec};
use core::{error, fmt};

use super::{BoxedRaceError, Failed, failed::write_list};
use crate::Refusal;

/// Why a race has no winner.
///
/// It is an [`Error`](core::error::Error) for every attempt error that is `Debug + Display`, such
/// as `anyhow::Error`, `Box<dyn Error + Send + Sync>` and `String`, so `?` converts it to
/// `anyhow::Error` or to a boxed error, if the arguments are `'static`. ([`boxed`](Self::boxed)
/// drops the arguments.) Its message lists each failure in the alternate form (`{:#}`), which
/// prints the whole chain of an `anyhow::Error`; it has no `source()`. To keep the chain of your
/// errors as sources, use `.map_err(RaceError::boxed)`.
///
/// To get your errors back, see [`into_last_error`](Self::into_last_error),
/// [`into_errors`](Self::into_errors) and [`into_failed`](Self::into_failed).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaceError<A, E> {
    /// There were no candidates.
    NoCandidates,
    /// Every started attempt failed, and no other could start.
    #[non_exhaustive]
    AllFailed {
        /// The failures, in the order in which they happened.
        failed: Vec<Failed<A, E>>,
        /// What refused further starts; `None` if the candidates were used up.
        refused: Option<Refusal>,
    },
    /// A failure was fatal. The attempts that were running were cancelled.
    #[non_exhaustive]
    Fatal {
        /// The failures, in the order in which they happened. The last one is the fatal one.
        failed: Vec<Failed<A, E>>,
    },
    /// The deadline passed. The attempts that were running were cancelled.
    #[non_exhaustive]
    Deadline {
        /// The failures before the deadline, in the order in which they happened.
        failed: Vec<Failed<A, E>>,
    },
}

impl<A, E> RaceError<A, E> {
    /// Returns the failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn failed(&self) -> &[Failed<A, E>] {
        match self {
            Self::NoCandidates => &[],
            Self::AllFailed { failed, .. } | Self::Fatal { failed } | Self::Deadline { failed } => {
                failed
            }
        }
    }

    /// Returns the failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn into_failed(self) -> Vec<Failed<A, E>> {
        match self {
            Self::NoCandidates => Vec::new(),
            Self::AllFailed { failed, .. } | Self::Fatal { failed } | Self::Deadline { failed } => {
                failed
            }
        }
    }

    /// Returns the errors of the attempts, in the order in which they failed. Attempts that timed
    /// out have none.
    #[must_use]
    pub fn into_errors(self) -> Vec<E> {
        let failed = self.into_failed().into_iter();
        failed
            .filter_map(|failed| failed.failure.into_error())
            .collect()
    }

    /// Returns the last error that an attempt returned, which is the fatal one if there is one.
    /// `None` if no attempt returned an error: there were no candidates, or all attempts timed out.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = ["refused", "no route"].map(|error| async move { Err::<(), _>(error) });
    /// let race = Race::of_with(clock.timer(), ms(50), attempts);
    /// let error = clock.run(race.first_ok())?.unwrap_err();
    /// assert_eq!(error.into_last_error(), Some("no route"));
    /// # Ok::<(), race_core::Deadlock>(())
    /// ```
    #[must_use]
    pub fn into_last_error(self) -> Option<E> {
        let failed = self.into_failed().into_iter().rev();
        let mut errors = failed.filter_map(|failed| failed.failure.into_error());
        errors.next()
    }

    /// Boxes the errors, so that their chains stay reachable as sources. The arguments are dropped.
    ///
    /// ```
    /// # use std::{error::Error, io, time::Duration};
    /// # use race_core::{Race, RaceError, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = ["a", "b"].map(|_| async { Err::<(), _>(io::Error::other("refused")) });
    /// let race = Race::of_with(clock.timer(), ms(50), attempts);
    /// let error = clock.run(race.first_ok())?.map_err(RaceError::boxed).unwrap_err();
    /// assert_eq!(error.to_string(), "all 2 attempts failed: #0: refused; #1 (the source)");
    /// assert_eq!(error.source().unwrap().to_string(), "refused");
    /// # Ok::<(), race_core::Deadlock>(())
    /// ```
    #[must_use]
    pub fn boxed(self) -> BoxedRaceError
    where
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let reason = Reason(&self).to_string();
        BoxedRaceError::new(&reason, self.into_failed())
    }
}

/// Why a race failed, without the failures.
struct Reason<'a, A, E>(&'a RaceError<A, E>);

impl<A, E> fmt::Display for Reason<'_, A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, refused) = match self.0 {
            RaceError::NoCandidates => {
                return f.write_str("no candidates to race: provide at least one");
            }
            RaceError::Fatal { failed } => {
                let index = failed.last().map_or(0, |fatal| fatal.index);
                return write!(f, "attempt #{index} failed fatally");
            }
            RaceError::Deadline { .. } => return f.write_str("no attempt won before the deadline"),
            RaceError::AllFailed { failed, refused } => (failed.len(), refused),
        };
        match (failed, refused) {
            (0, Some(refusal)) => return write!(f, "no attempt could start, refused by {refusal}"),
            (0, None) => return f.write_str("no attempt is left"),
            (1, None) => f.write_str("the only attempt failed")?,
            (1, Some(_)) => f.write_str("the attempt failed")?,
            (count, _) => write!(f, "all {count} attempts failed")?,
        }
        match refused {
            Some(refusal) => write!(f, ", and further ones were refused by {refusal}"),
            None => Ok(()),
        }
    }
}

impl<A, E: fmt::Display> fmt::Display for RaceError<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reason(self).fmt(f)?;
        write_list(f, self.failed())
    }
}

impl<A: fmt::Debug, E: fmt::Debug + fmt::Display> error::Error for RaceError<A, E> {}
