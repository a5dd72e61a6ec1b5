#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::Failed;

/// The failures of a race, which it keeps until it ends: a `Vec<Failed<A, E>>` on the heap, or
/// [`InlineFailures`](super::InlineFailures).
pub trait Failures:
    Default
    + IntoIterator<
        Item = Failed<<Self as Failures>::Arg, <Self as Failures>::Error>,
        IntoIter: DoubleEndedIterator,
    >
{
    /// The type of the arguments.
    type Arg;
    /// The type of the errors.
    type Error;

    /// Adds a failure.
    fn push(&mut self, failed: Failed<Self::Arg, Self::Error>);

    /// Returns the failures that are kept, in the order in which they happened.
    fn as_slice(&self) -> &[Failed<Self::Arg, Self::Error>];

    /// Returns the number of failures, including those that are not kept.
    fn total(&self) -> usize;

    /// Returns the number of failures that are not kept, all of which are earlier than the kept
    /// ones.
    fn omitted(&self) -> usize {
        self.total() - self.as_slice().len()
    }
}

/// The initial capacity of the list of failures.
#[cfg(feature = "alloc")]
const FEW_FAILURES: usize = 4;

#[cfg(feature = "alloc")]
impl<A, E> Failures for Vec<Failed<A, E>> {
    type Arg = A;
    type Error = E;

    #[inline]
    fn push(&mut self, failed: Failed<A, E>) {
        if self.capacity() == 0 {
            *self = Vec::with_capacity(FEW_FAILURES);
        }
        self.push(failed);
    }

    fn as_slice(&self) -> &[Failed<A, E>] {
        self
    }

    fn total(&self) -> usize {
        self.len()
    }
}
