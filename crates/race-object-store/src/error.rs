use std::{error::Error, fmt, time::Duration};

use object_store::path::Path;

/// A read timed out. It is the source of an [`object_store::Error::Generic`].
#[derive(Debug)]
#[non_exhaustive]
pub enum TimeoutError {
    /// Every attempt exceeded the attempt timeout.
    #[non_exhaustive]
    Attempts {
        /// What was read.
        path: Path,
        /// The attempt timeout.
        timeout: Duration,
    },
    /// No attempt was answered before the deadline.
    #[non_exhaustive]
    Deadline {
        /// What was read.
        path: Path,
        /// The deadline.
        deadline: Duration,
        /// The last error of an attempt that failed before.
        last: Option<Box<object_store::Error>>,
    },
}

impl From<TimeoutError> for object_store::Error {
    fn from(error: TimeoutError) -> Self {
        Self::Generic {
            store: "HedgedStore",
            source: Box::new(error),
        }
    }
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempts { path, timeout } => {
                write!(
                    f,
                    "every attempt to read {path} timed out after {timeout:?}"
                )
            }
            Self::Deadline { path, deadline, .. } => {
                write!(
                    f,
                    "no answer for {path} within the deadline of {deadline:?}"
                )
            }
        }
    }
}

impl Error for TimeoutError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Deadline { last, .. } => last.as_deref().map(|last| last as _),
            Self::Attempts { .. } => None,
        }
    }
}
