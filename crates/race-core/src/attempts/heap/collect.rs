//! Sets from iterators, of futures or of pairs of an argument and a future.

use super::Attempts;

/// Collects futures. The argument of each is `()`.
///
/// ```
/// use core::future::ready;
/// use race_core::Attempts;
///
/// # futures::executor::block_on(async {
/// let mut attempts: Attempts<_> = [1, 2, 3].map(ready).into_iter().collect();
/// assert_eq!(attempts.next().await, Some(((), 1)));
/// # });
/// ```
impl<F: Future> FromIterator<F> for Attempts<F> {
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        futures.into_iter().map(|future| ((), future)).collect()
    }
}

/// Adds futures in the order of the iterator, as [`push`](Attempts::push) does.
impl<F: Future> Extend<F> for Attempts<F> {
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        self.extend(futures.into_iter().map(|future| ((), future)));
    }
}

/// Collects pairs of an argument and a future.
///
/// ```
/// use core::future::ready;
/// use race_core::Attempts;
///
/// # futures::executor::block_on(async {
/// let lengths = ["one", "three"].map(|word| (word, ready(word.len())));
/// let mut attempts: Attempts<_, _> = lengths.into_iter().collect();
/// assert_eq!(attempts.next().await, Some(("one", 3)));
/// # });
/// ```
impl<F: Future, A> FromIterator<(A, F)> for Attempts<F, A> {
    fn from_iter<I: IntoIterator<Item = (A, F)>>(attempts: I) -> Self {
        let attempts = attempts.into_iter();
        let mut set = match attempts.size_hint() {
            // A bound could be far from the number. Blocks that double then waste less.
            (lower, Some(upper)) if lower == upper => Self::with_capacity(lower),
            _ => Self::new(),
        };
        set.extend(attempts);
        set
    }
}

/// Adds pairs in the order of the iterator, as [`push_with`](Attempts::push_with) does.
impl<F: Future, A> Extend<(A, F)> for Attempts<F, A> {
    fn extend<I: IntoIterator<Item = (A, F)>>(&mut self, attempts: I) {
        for (arg, future) in attempts {
            self.push_with(arg, future);
        }
    }
}
