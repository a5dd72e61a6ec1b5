#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};
use core::{error, fmt};

#[cfg(feature = "alloc")]
use super::BoxedRaceError;
use super::{Failed, Failures, InlineFailures, failed::write_list};
use crate::observe::Refusal;

/// Why a race on the heap has no winner, with every failure. See [`GenericRaceError`].
#[cfg(feature = "alloc")]
pub type RaceError<A, E> = GenericRaceError<Vec<Failed<A, E>>>;

/// Why an [`InlineRace`](crate::InlineRace) has no winner, with the latest `N` failures. See
/// [`GenericRaceError`].
///
/// ```
/// use core::time::Duration;
/// use race_core::{InlineRace, InlineRaceError};
/// # use race_core::test::VirtualClock;
///
/// # let clock = VirtualClock::new();
/// # let timer = clock.timer();
/// # clock.run(async {
/// let attempts = ["refused", "no route"].map(|error| async move { Err::<(), _>(error) });
/// let race = InlineRace::<2, _, _>::at(timer).of(Duration::ZERO, attempts);
/// let error: InlineRaceError<usize, &str, 2> = race.first_ok().await.unwrap_err();
/// assert_eq!(error.failed().len(), 2);
/// assert_eq!(error.into_last_error(), Some("no route"));
/// # }).unwrap();
/// ```
pub type InlineRaceError<A, E, const N: usize> = GenericRaceError<InlineFailures<A, E, N>>;

/// Why a race has no winner.
///
/// Use it by its aliases: `RaceError` has every failure, [`InlineRaceError`] the latest ones. `L`
/// is the list of failures.
///
/// It is an [`Error`](core::error::Error) for every attempt error that is `Debug + Display`, such
/// as `anyhow::Error`, `Box<dyn Error + Send + Sync>` and `String`, so `?` converts it to
/// `anyhow::Error` or to a boxed error, if the arguments are `'static`. (`boxed` drops the
/// arguments.) Its message lists each failure in the alternate form (`{:#}`), which prints the
/// whole chain of an `anyhow::Error`; it has no `source()`. To keep the chain of the last error as
/// sources, use `.map_err(GenericRaceError::boxed)` (`RaceError::boxed`).
///
/// To get your errors back, see [`into_last_error`](Self::into_last_error), `into_errors` and
/// [`into_failed`](Self::into_failed).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenericRaceError<L> {
    /// There were no candidates.
    NoCandidates,
    /// Every started attempt failed, and no other could start, or not before the deadline.
    #[non_exhaustive]
    AllFailed {
        /// The failures, in the order in which they happened.
        failed: L,
        /// What refused further starts; `None` if the candidates were used up.
        refused: Option<Refusal>,
    },
    /// A failure was fatal. The attempts that were running were cancelled.
    #[non_exhaustive]
    Fatal {
        /// The failures, in the order in which they happened. The last one is the fatal one.
        failed: L,
    },
    /// The deadline passed. The attempts that were running were cancelled, or the source had given
    /// no candidate for a start that was due.
    #[non_exhaustive]
    Deadline {
        /// The failures before the deadline, in the order in which they happened.
        failed: L,
    },
}

impl<L: Failures> GenericRaceError<L> {
    fn list(&self) -> Option<&L> {
        match self {
            Self::NoCandidates => None,
            Self::AllFailed { failed, .. } | Self::Fatal { failed } | Self::Deadline { failed } => {
                Some(failed)
            }
        }
    }

    /// Returns the failures that were kept, in the order in which they happened. A fatal one is the
    /// last.
    #[must_use]
    pub fn failed(&self) -> &[Failed<L::Arg, L::Error>] {
        self.list().map_or(&[], L::as_slice)
    }

    /// Returns the list of failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn into_failed(self) -> L {
        match self {
            Self::NoCandidates => L::default(),
            Self::AllFailed { failed, .. } | Self::Fatal { failed } | Self::Deadline { failed } => {
                failed
            }
        }
    }

    /// Returns the last error that an attempt returned, which is the fatal one if there is one.
    /// `None` if no attempt returned an error: there were no candidates, or all attempts timed out.
    ///
    /// An [`InlineRace`](crate::InlineRace) keeps its latest `N` failures. If all of these are
    /// timeouts, the result is `None`, although an earlier attempt may have returned an error.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = ["refused", "no route"].map(|error| async move { Err::<(), _>(error) });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// let error = clock.run(race.first_ok())?.unwrap_err();
    /// assert_eq!(error.into_last_error(), Some("no route"));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn into_last_error(self) -> Option<L::Error> {
        let failed = self.into_failed().into_iter().rev();
        let mut errors = failed.filter_map(|failed| failed.failure.into_error());
        errors.next()
    }
}

#[cfg(feature = "alloc")]
impl<L: Failures> GenericRaceError<L> {
    /// Returns the errors of the attempts, in the order in which they failed. Attempts that timed
    /// out have none.
    #[must_use]
    pub fn into_errors(self) -> Vec<L::Error> {
        let failed = self.into_failed().into_iter();
        failed
            .filter_map(|failed| failed.failure.into_error())
            .collect()
    }

    /// Boxes the errors, so that their chains stay reachable as sources. The arguments are dropped.
    ///
    /// ```
    /// # use std::{io, time::Duration};
    /// # use race_core::{Race, RaceError, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = ["a", "b"].map(|_| async { Err::<(), _>(io::Error::other("refused")) });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// let error = clock.run(race.first_ok())?.map_err(RaceError::boxed).unwrap_err();
    /// assert_eq!(error.to_string(), "all 2 attempts failed: #0: refused; #1: refused");
    /// assert!(error.last_error().unwrap().is::<io::Error>());
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn boxed(self) -> BoxedRaceError
    where
        L::Error: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let omitted = self.list().map_or(0, L::omitted);
        let reason = alloc::format!("{}", Reason(&self));
        BoxedRaceError::new(&reason, omitted, self.into_failed())
    }
}

/// Why a race failed, without the failures.
struct Reason<'a, L>(&'a GenericRaceError<L>);

impl<L: Failures> fmt::Display for Reason<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, refused) = match self.0 {
            GenericRaceError::NoCandidates => {
                return f.write_str("no candidates to race: provide at least one");
            }
            GenericRaceError::Fatal { failed } => {
                let index = failed.as_slice().last().map_or(0, |fatal| fatal.index);
                return write!(f, "attempt #{index} failed fatally");
            }
            GenericRaceError::Deadline { .. } => {
                return f.write_str("no attempt won before the deadline");
            }
            GenericRaceError::AllFailed { failed, refused } => (failed.total(), refused),
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

impl<L: Failures<Error: fmt::Display>> fmt::Display for GenericRaceError<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reason(self).fmt(f)?;
        write_list(f, self.list().map_or(0, L::omitted), self.failed())
    }
}

impl<L: Failures<Error: fmt::Display> + fmt::Debug> error::Error for GenericRaceError<L> {}
