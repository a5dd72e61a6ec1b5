//! Where a race keeps its running attempts: on the heap or inline.

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;

#[cfg(feature = "alloc")]
use super::timeouts::Expiry;
use super::{expiries::InlineExpiries, timeouts::Expiries};
#[cfg(feature = "alloc")]
use crate::Attempts;
use crate::attempts::InlineAttempts;

/// Where a race keeps its running attempts. [`Heap`] and [`Inline`] implement it.
///
/// Like [`SourceTypes`](crate::source::SourceTypes), it has no bounds on futures, so that races
/// stay usable inside spawned futures.
pub trait Placement {
    /// The set of running attempts `F` with arguments `A`.
    #[doc(hidden)]
    type Set<F, A>;

    #[doc(hidden)]
    type Expiries: Expiries;

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

    #[inline]
    fn empty_set<F, A>() -> Attempts<F, A> {
        Attempts::new()
    }

    fn is_empty<F, A>(set: &Attempts<F, A>) -> bool {
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

    #[inline]
    fn empty_set<F, A>() -> InlineAttempts<F, A, N> {
        InlineAttempts::new()
    }

    fn is_empty<F, A>(set: &InlineAttempts<F, A, N>) -> bool {
        set.is_empty()
    }
}
