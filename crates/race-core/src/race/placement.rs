//! Where a race keeps its running attempts: on the heap or inline.

#[cfg(feature = "alloc")]
use alloc::{collections::VecDeque, vec::Vec};

#[cfg(feature = "alloc")]
use super::timeouts::Expiry;
use super::{expiries::InlineExpiries, timeouts::Expiries};
#[cfg(feature = "alloc")]
use crate::{Attempts, Failed, attempts::OneWakerAttempts};
use crate::{
    attempts::InlineAttempts,
    outcome::{Failures, InlineFailures},
};

/// Where a race keeps its running attempts, and with which waker it polls them. `Heap`, `OneWaker`
/// and [`Inline`] implement it.
///
/// Like [`SourceTypes`](crate::source::SourceTypes), it has no bounds on futures, so that races
/// stay usable inside spawned futures.
pub trait Placement {
    /// The set of running attempts `F` with arguments `A`.
    #[doc(hidden)]
    type Set<F, A>;

    #[doc(hidden)]
    type Expiries: Expiries;

    /// The failures of attempts with arguments `A` and errors `E`, which result-aware finishers
    /// keep.
    type Failures<A, E>: Failures<Arg = A, Error = E>;

    #[doc(hidden)]
    fn empty_set<F, A>() -> Self::Set<F, A>;

    #[doc(hidden)]
    fn is_empty<F, A>(set: &Self::Set<F, A>) -> bool;
}

/// Attempts on the heap: the placement of a [`Race`](crate::Race).
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heap;

#[cfg(feature = "alloc")]
impl Placement for Heap {
    type Set<F, A> = Attempts<F, A>;
    type Expiries = VecDeque<Expiry>;
    type Failures<A, E> = Vec<Failed<A, E>>;

    #[inline]
    fn empty_set<F, A>() -> Attempts<F, A> {
        Attempts::new()
    }

    fn is_empty<F, A>(set: &Attempts<F, A>) -> bool {
        set.is_empty()
    }
}

/// Attempts on the heap, which are polled with the waker of the task, as are the timer and the
/// source.
///
/// For executors whose futures accept no other waker than that of their own tasks, such as those of
/// embassy with its default timer queue. A race with this placement is `Unpin`, runs any number of
/// attempts, and polls all of them in each poll; the one that is polled first rotates. With few
/// attempts it is smaller than a race with the placement [`Heap`], which polls only those that were
/// woken.
///
/// ```
/// use std::time::Duration;
/// use race_core::{GenericRace, placement::OneWaker, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let attempts = [100, 20, 80].map(|latency| clock.sleep(ms(latency)));
/// let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(ms(50), attempts);
/// let won = clock.run(race.first())?.expect("there are three candidates");
/// assert_eq!((won.index, won.elapsed), (1, ms(70)));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OneWaker;

#[cfg(feature = "alloc")]
impl Placement for OneWaker {
    type Set<F, A> = OneWakerAttempts<F, A>;
    type Expiries = VecDeque<Expiry>;
    type Failures<A, E> = Vec<Failed<A, E>>;

    #[inline]
    fn empty_set<F, A>() -> OneWakerAttempts<F, A> {
        OneWakerAttempts::new()
    }

    fn is_empty<F, A>(set: &OneWakerAttempts<F, A>) -> bool {
        set.is_empty()
    }
}

/// Up to `N` attempts inside the race: the placement of an [`InlineRace`](crate::InlineRace).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Inline<const N: usize>;

impl<const N: usize> Placement for Inline<N> {
    type Set<F, A> = InlineAttempts<F, A, N>;
    type Expiries = InlineExpiries<N>;
    type Failures<A, E> = InlineFailures<A, E, N>;

    #[inline]
    fn empty_set<F, A>() -> InlineAttempts<F, A, N> {
        InlineAttempts::new()
    }

    fn is_empty<F, A>(set: &InlineAttempts<F, A, N>) -> bool {
        set.is_empty()
    }
}
