use std::{error::Error, fmt, time::Duration};

/// Why a hedged request has no answer.
///
/// If attempts failed with errors of the service, the last one is passed on as
/// [`Service`](Self::Service); observers see the others.
#[derive(Debug)]
#[non_exhaustive]
pub enum HedgeError<E> {
    /// The service failed.
    Service(E),
    /// Every attempt exceeded the attempt timeout.
    TimedOut(Duration),
    /// No answer was accepted before the deadline.
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

    /// Returns a boxed error, which for an error of the service is that error itself.
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

/// It has no `source()` of its own: it is the error of the service. To keep the chain below a
/// service whose error is a box, use [`boxed`](HedgeError::boxed).
impl<E: fmt::Debug + fmt::Display> Error for HedgeError<E> {}
