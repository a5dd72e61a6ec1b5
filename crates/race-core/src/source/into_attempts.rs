use core::array;

use super::Either;

/// The attempts that `Race::of` takes: an iterator of futures, or a tuple of 2 to 12 futures of
/// different types with one output type.
///
/// `M` tells the two apart, so that the compiler accepts both; it is inferred.
///
/// If the outputs differ, map them to one type first:
///
#[cfg_attr(all(feature = "alloc", feature = "test-util"), doc = "```")]
#[cfg_attr(not(all(feature = "alloc", feature = "test-util")), doc = "```ignore")]
/// # use std::time::Duration;
/// # use race_core::{Race, test::VirtualClock};
/// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let cached = async { Some("from the cache") };
/// let fetched = async {
///     clock.sleep(ms(20)).await;
///     String::from("from the server")
/// };
/// let attempts = (async { cached.await.map(String::from) }, async { Some(fetched.await) });
/// let won = clock.run(Race::at(clock.timer()).of(ms(50), attempts).first())?;
/// assert_eq!(won.and_then(|won| won.output), Some("from the cache".into()));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a race cannot be made of `{Self}`",
    label = "neither an iterator of futures nor a tuple of futures with one output type",
    note = "pass an iterator of futures, or a tuple of 2 to 12 futures: they need one output type, so \
            map different outputs to one type first, such as an enum"
)]
pub trait IntoAttempts<M> {
    /// The future of an attempt.
    type Attempt: Future;
    /// Gives the attempts, in the order of their start.
    type Attempts: Iterator<Item = Self::Attempt>;

    /// Returns the attempts.
    fn into_attempts(self) -> Self::Attempts;
}

/// The attempts come from an iterator: a marker for [`IntoAttempts`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AsIterator;

/// The attempts come from a tuple of `N`: a marker for [`IntoAttempts`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AsTuple<const N: usize>;

impl<I: IntoIterator<Item: Future>> IntoAttempts<AsIterator> for I {
    type Attempt = I::Item;
    type Attempts = I::IntoIter;

    #[inline]
    fn into_attempts(self) -> I::IntoIter {
        self.into_iter()
    }
}

/// The type that holds any of these futures: `either!(A B C)` is `Either<A, Either<B, C>>`.
macro_rules! either {
    ($last:ident) => { $last };
    ($first:ident $($rest:ident)+) => { Either<$first, either!($($rest)+)> };
}

/// Calls functions of [`Either`], the first one last: `call!(right left; b)` is `right(left(b))`.
macro_rules! call {
    (; $value:expr) => { $value };
    ($function:ident $($rest:ident)*; $value:expr) => {
        Either::$function(call!($($rest)*; $value))
    };
}

/// The array of these futures as [`Either`]: `[left(a), right(left(b)), right(right(c))]`.
macro_rules! attempts {
    ([$($done:expr,)*] [$($right:ident)*] $last:ident) => {
        [$($done,)* call!($($right)*; $last)]
    };
    ([$($done:expr,)*] [$($right:ident)*] $next:ident $($rest:ident)+) => {
        attempts!([$($done,)* call!($($right)* left; $next),] [$($right)* right] $($rest)+)
    };
}

/// Implements the trait for a tuple, and for the tuples of its last elements.
macro_rules! tuples {
    ($last:ident) => {};
    ($first:ident $($rest:ident)+) => {
        tuple!($first $($rest)+);
        tuples!($($rest)+);
    };
}

macro_rules! tuple {
    ($($future:ident)+) => {
        impl<Output, $($future),+> IntoAttempts<AsTuple<{ [$(stringify!($future)),+].len() }>>
            for ($($future,)+)
        where
            $($future: Future<Output = Output>,)+
        {
            type Attempt = either!($($future)+);
            type Attempts = array::IntoIter<Self::Attempt, { [$(stringify!($future)),+].len() }>;

            #[allow(non_snake_case, reason = "the names of the types are those of the values")]
            fn into_attempts(self) -> Self::Attempts {
                let ($($future,)+) = self;
                IntoIterator::into_iter(attempts!([] [] $($future)+))
            }
        }
    };
}

tuples!(A B C D E F G H I J K L);
