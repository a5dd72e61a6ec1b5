use core::{iter::FusedIterator, ops::Deref, slice};

use arrayvec::ArrayVec;

use super::{Failed, Failures};

/// The latest `N` failures of a race, in place, and the number of all. An
/// [`InlineRace`](crate::InlineRace) keeps its failures in it, with an `N` of its own.
///
/// It dereferences to a slice of the failures that are kept, in the order in which they happened.
///
/// ```
/// use core::time::Duration;
/// use race_core::InlineRace;
/// # use race_core::test::VirtualClock;
///
/// # let clock = VirtualClock::new();
/// # let timer = clock.timer();
/// let attempts = ["refused", "no route", "refused"].map(|error| async move { Err::<(), _>(error) });
/// let race = InlineRace::<2, _, _>::at(timer).of(Duration::ZERO, attempts);
/// # clock.run(async {
/// let error = race.first_ok().await.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "all 3 attempts failed: 1 earlier failure omitted; #1: no route; #2: refused"
/// );
/// let failures = error.into_failed();
/// assert_eq!((failures.len(), failures.total()), (2, 3));
/// assert_eq!(failures[0].arg, 1);
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineFailures<A, E, const N: usize> {
    latest: ArrayVec<Failed<A, E>, N>,
    total: usize,
}

impl<A, E, const N: usize> InlineFailures<A, E, N> {
    /// Returns the number of failures, including those that are not kept.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }
}

impl<A, E, const N: usize> Default for InlineFailures<A, E, N> {
    fn default() -> Self {
        Self {
            latest: ArrayVec::new(),
            total: 0,
        }
    }
}

impl<A, E, const N: usize> Failures for InlineFailures<A, E, N> {
    type Arg = A;
    type Error = E;

    fn push(&mut self, failed: Failed<A, E>) {
        self.total = self.total.saturating_add(1);
        if self.latest.is_full() {
            self.latest.pop_at(0);
        }
        let _kept = self.latest.try_push(failed);
    }

    fn as_slice(&self) -> &[Failed<A, E>] {
        &self.latest
    }

    fn total(&self) -> usize {
        self.total
    }
}

impl<A, E, const N: usize> Deref for InlineFailures<A, E, N> {
    type Target = [Failed<A, E>];

    fn deref(&self) -> &[Failed<A, E>] {
        &self.latest
    }
}

impl<A, E, const N: usize> IntoIterator for InlineFailures<A, E, N> {
    type Item = Failed<A, E>;
    type IntoIter = InlineFailuresIntoIter<A, E, N>;

    /// Returns the failures that are kept, in the order in which they happened.
    fn into_iter(self) -> InlineFailuresIntoIter<A, E, N> {
        InlineFailuresIntoIter(self.latest.into_iter())
    }
}

impl<'a, A, E, const N: usize> IntoIterator for &'a InlineFailures<A, E, N> {
    type Item = &'a Failed<A, E>;
    type IntoIter = slice::Iter<'a, Failed<A, E>>;

    fn into_iter(self) -> slice::Iter<'a, Failed<A, E>> {
        self.iter()
    }
}

/// The iterator over the failures that [`InlineFailures`] keeps.
#[derive(Clone, Debug)]
pub struct InlineFailuresIntoIter<A, E, const N: usize>(arrayvec::IntoIter<Failed<A, E>, N>);

impl<A, E, const N: usize> Iterator for InlineFailuresIntoIter<A, E, N> {
    type Item = Failed<A, E>;

    fn next(&mut self) -> Option<Failed<A, E>> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<A, E, const N: usize> DoubleEndedIterator for InlineFailuresIntoIter<A, E, N> {
    fn next_back(&mut self) -> Option<Failed<A, E>> {
        self.0.next_back()
    }
}

impl<A, E, const N: usize> ExactSizeIterator for InlineFailuresIntoIter<A, E, N> {}

impl<A, E, const N: usize> FusedIterator for InlineFailuresIntoIter<A, E, N> {}
