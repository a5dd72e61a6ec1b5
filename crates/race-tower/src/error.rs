use std::{error::Error, fmt, time::Duration};

/// Why a hedged request has no answer.
///
/// If attempts failed with errors of the service, the last one is passed on as
/// [`Service`](Self::Service); observers see the others. An answer that is not good is still an
/// answer, and is no error.
#[derive(Debug)]
#[non_exhaustive]
pub enum HedgeError<E> {
    /// The service failed.
    Service(E),
    /// Every attempt exceeded the attempt timeout.
    TimedOut(Duration),
    /// No answer came before the deadline.
    Deadline(Duration),
    /// Every attempt panicked.
    Panicked,
}

impl<E> HedgeError<E> {
    /// Returns the error of the service, if it is one.
    pub fn into_service(self) -> Option<E> {
        match self {
            Self::Service(error) => Some(error),
            _ => None,
        }
    }

    /// Boxes the error. One of the service is boxed itself, or stays in its box.
    pub fn boxed(self) -> Box<dyn Error + Send + Sync>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match self {
            Self::Service(error) => error.into(),
            other => other.to_text().into(),
        }
    }

    /// What happened, unless the service failed.
    fn to_text(&self) -> String {
        match self {
            Self::Service(_) => "the service failed".to_owned(),
            Self::TimedOut(timeout) => format!("every attempt timed out after {timeout:?}"),
            Self::Deadline(deadline) => format!("no answer within the deadline of {deadline:?}"),
            Self::Panicked => "every attempt panicked".to_owned(),
        }
    }
}

/// Prints the error of the service as it prints itself.
impl<E: fmt::Display> fmt::Display for HedgeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(error) => error.fmt(f),
            other => f.write_str(&other.to_text()),
        }
    }
}

/// Its source is that of the error of the service, as whose text it prints itself. If that error is
/// a box, such as tower's `BoxError`, use `map_err(HedgeError::boxed)`.
impl<E: Error + 'static> Error for HedgeError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Service(error) => error.source(),
            _ => None,
        }
    }
}
