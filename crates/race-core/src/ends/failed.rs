use core::{error, fmt, time::Duration};

/// An attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed<A, E> {
    /// Its argument; for `Race::of` its place in the iterator.
    pub arg: A,
    /// Its place: how many had started before it.
    pub place: usize,
    /// When it failed, from the start of the race's first attempt. Zero if nothing had to be waited for
    /// until then, for which no clock is read.
    pub elapsed: Duration,
    /// Why.
    pub failure: Failure<E>,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure<E> {
    /// For a reason of its own: its error, or its whole output if a classifier did not accept that.
    Error(E),
    /// It had run for this long, the attempt timeout, and was cancelled.
    TimedOut(Duration),
}

impl<E> Failure<E> {
    /// The attempt's own error, if it had one.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Error(error) => Some(error),
            Self::TimedOut(_) => None,
        }
    }

    /// The attempt's own error, if it had one.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Error(error) => Some(error),
            Self::TimedOut(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => error.fmt(f),
            Self::TimedOut(after) => write!(f, "timed out after {after:?}"),
        }
    }
}

impl<E: error::Error + 'static> error::Error for Failure<E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Error(error) => error.source(),
            Self::TimedOut(_) => None,
        }
    }
}
