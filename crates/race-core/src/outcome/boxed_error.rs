use alloc::{
    boxed::Box,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{error::Error, fmt, mem};

use super::{Failed, Failure, failed::write_omitted};

/// An attempt error in a box.
type BoxError = Box<dyn Error + Send + Sync>;

/// A race error whose attempt errors are boxed, made by `boxed` of
/// [`GenericRaceError`](crate::GenericRaceError) and [`QuorumError`](crate::QuorumError).
///
/// `source()` is the last error that an attempt returned, with its chain. The message lists the
/// other failures, each with its whole chain. Nothing appears in both.
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

    /// Returns the position in `failed` of the last failure that has an error.
    fn source_position(&self) -> Option<usize> {
        let mut failed = self.failed.iter();
        failed.rposition(|failed| failed.failure.error().is_some())
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
        let source = self.source_position();
        let mut separator = write_omitted(f, self.omitted)?;
        for (position, Failed { index, failure, .. }) in self.failed.iter().enumerate() {
            let separator = mem::replace(&mut separator, ';');
            if Some(position) == source {
                write!(f, "{separator} #{index} (the source)")?;
                continue;
            }
            write!(f, "{separator} #{index}: {failure}")?;
            let error = failure.error();
            let mut source = error.and_then(|error| error.source());
            while let Some(error) = source {
                write!(f, ": {error}")?;
                source = error.source();
            }
        }
        Ok(())
    }
}

impl Error for BoxedRaceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let error = self.failed[self.source_position()?].failure.error()?;
        Some(&**error)
    }
}
