use alloc::{
    boxed::Box,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{error::Error, fmt};

use super::{Failed, Failure, failed::write_omitted};

/// An attempt error in a box.
type BoxError = Box<dyn Error + Send + Sync>;

/// A race error whose attempt errors are boxed, made by `boxed` of
/// [`GenericRaceError`](crate::outcome::GenericRaceError) and [`QuorumError`](crate::QuorumError).
///
/// The message lists each failure by its own text, without its sources. [`source`](Error::source)
/// continues the chain of the last error that an attempt returned: it is the source of that error.
/// So a report of the chain, such as `{:#}` of `anyhow`, prints nothing twice.
/// [`last_error`](Self::last_error) returns that error itself, and [`failed`](Self::failed) all.
#[derive(Debug)]
pub struct BoxedRaceError {
    /// Why the race failed.
    reason: String,
    /// The number of earlier failures that were not kept.
    omitted: usize,
    failed: Vec<Failed<(), BoxError>>,
}

impl BoxedRaceError {
    pub(super) fn new<A, E>(
        reason: &dyn fmt::Display,
        omitted: usize,
        failed: impl IntoIterator<Item = Failed<A, E>>,
    ) -> Self
    where
        E: Into<BoxError>,
    {
        Self {
            reason: reason.to_string(),
            omitted,
            failed: failed.into_iter().map(boxed).collect(),
        }
    }

    /// Returns the failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn failed(&self) -> &[Failed<(), BoxError>] {
        &self.failed
    }

    /// Returns the failures, in the order in which they happened. A fatal one is the last.
    #[must_use]
    pub fn into_failed(self) -> Vec<Failed<(), BoxError>> {
        self.failed
    }

    /// Returns the last error that an attempt returned. `None` if no attempt returned one, because
    /// none started or all timed out.
    #[must_use]
    pub fn last_error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        let mut failed = self.failed.iter().rev();
        failed.find_map(|failed| failed.failure.error().map(|error| &**error))
    }
}

fn boxed<A, E: Into<BoxError>>(failed: Failed<A, E>) -> Failed<(), BoxError> {
    Failed {
        arg: (),
        index: failed.index,
        elapsed: failed.elapsed,
        failure: match failed.failure {
            Failure::Error(error) => Failure::Error(error.into()),
            Failure::TimedOut(after) => Failure::TimedOut(after),
        },
    }
}

impl fmt::Display for BoxedRaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        let mut separator = write_omitted(f, self.omitted)?;
        for Failed { index, failure, .. } in &self.failed {
            write!(f, "{separator} #{index}: {failure}")?;
            separator = ';';
        }
        Ok(())
    }
}

impl Error for BoxedRaceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last_error()?.source()
    }
}
