use core::pin::Pin;

use crate::{Policy, Timer, attempts::AttemptSet, course::Course, source::Source};

/// A race of either kind, on the heap or in place, as its ends see it.
pub trait Racing: Sized {
    /// Where its candidates come from.
    type Source: Source;
    #[doc(hidden)]
    type Timer: Timer + Unpin;
    #[doc(hidden)]
    type Policy: Policy;
    #[doc(hidden)]
    type Attempts: AttemptSet<<Self::Source as Source>::Attempt, (Arg<Self>, usize)>;

    #[doc(hidden)]
    fn parts(self: Pin<&mut Self>) -> Parts<'_, Self>;
}

/// The attempts that run, and the rest.
pub(crate) type Parts<'a, R> = (
    Pin<&'a mut <R as Racing>::Attempts>,
    &'a mut Course<<R as Racing>::Source, <R as Racing>::Timer, <R as Racing>::Policy>,
);

/// The argument of an attempt.
pub(crate) type Arg<R> = <<R as Racing>::Source as Source>::Arg;

/// What an attempt gives.
pub(crate) type Output<R> = <<R as Racing>::Source as Source>::Output;
