use core::{error, fmt, time::Duration};

/// An attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed<A, E> {
    /// The argument of the attempt; for `Race::of` its index in the iterator.
    pub arg: A,
    /// The index of the attempt: the number of attempts that started before it.
    pub index: usize,
    /// The time from the start of the first attempt to the failure. Zero if the race had not waited
    /// before, because no clock is read then.
    pub elapsed: Duration,
    /// Why the attempt failed.
    pub failure: Failure<E>,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The error of the attempt, or its whole output if a classifier rejected that.
    Error(E),
    /// The attempt exceeded the attempt timeout, given here, and was cancelled.
    TimedOut(Duration),
}

impl<E> Failure<E> {
    /// Returns the error of the attempt, if it has one.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Error(error) => Some(error),
            Self::TimedOut(_) => None,
        }
    }

    /// Returns the error of the attempt, if it has one.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Error(error) => Some(error),
            Self::TimedOut(_) => None,
        }
    }
}

/// The alternate form (`{:#}`) prints the error in its alternate form.
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

/// Writes the failures after a colon, in the alternate form of the errors: `: #0: a; #1: b`.
pub(super) fn write_list<A, E: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    omitted: usize,
    failed: &[Failed<A, E>],
) -> fmt::Result {
    let mut separator = write_omitted(f, omitted)?;
    for Failed { index, failure, .. } in failed {
        write!(f, "{separator} #{index}: {failure:#}")?;
        separator = ';';
    }
    Ok(())
}

/// Writes how many failures are not in a list, if any. Returns the separator before its first item.
pub(super) fn write_omitted(
    f: &mut fmt::Formatter<'_>,
    omitted: usize,
) -> Result<char, fmt::Error> {
    match omitted {
        0 => return Ok(':'),
        1 => f.write_str(": 1 earlier failure omitted")?,
        _ => write!(f, ": {omitted} earlier failures omitted")?,
    }
    Ok(';')
}
