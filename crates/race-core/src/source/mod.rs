//! Where the candidates of a race come from.
//!
//! `Race::of`, `Race::new`, `Race::from_fn`, `Race::from_stream` and `Race::committing` make the
//! sources in this module. Use their names to write down the type of a race, such as a field of a
//! struct.

mod args;
mod arrivals;
#[cfg(feature = "alloc")]
mod committing;
mod contexts;
mod either;
mod into_attempts;
mod of;
mod repeat;
#[cfg(feature = "tracing")]
mod spanned;

use core::{
    task::{Context, Poll},
    time::Duration,
};

pub use args::Args;
pub use arrivals::Arrivals;
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use committing::Committing;
pub use contexts::Contexts;
pub use either::Either;
pub use into_attempts::{AsIterator, AsTuple, IntoAttempts};
pub use of::Of;
pub use repeat::Repeat;
#[cfg(feature = "tracing")]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub use spanned::Spanned;

#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use crate::handle::Handles;

/// The types of a source.
///
/// The fields of a race depend on these types only, and their implementations have no bounds on
/// iterators and closures. That keeps a race usable inside futures that are spawned or boxed: the
/// compiler decides whether such a future is `Send` with all lifetimes erased, and cannot prove
/// bounds on closures there.
pub trait SourceTypes {
    /// A candidate that waits for its start.
    type Candidate;
    /// The argument that comes back with the output.
    type Arg;
    /// The future of an attempt.
    type Attempt;
}

/// Gives a race its candidates one at a time, and makes an attempt of each.
///
/// A function can return or take `Race<impl Source<Output = Answer>, T>` and leave the rest open.
pub trait Source: SourceTypes<Attempt: Future<Output = <Self as Source>::Output>> {
    /// The output of an attempt.
    type Output;

    /// Returns the next candidate, or `None` if there are no more. Not called again after `None`,
    /// nor after a panic.
    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Candidate>>;

    /// Makes an attempt of a candidate when its start is due. The future must not borrow from the
    /// returned argument.
    fn attempt(&mut self, candidate: Self::Candidate) -> (Self::Arg, Self::Attempt);

    /// Reserves what the attempt of a candidate needs, such as a place in a queue, when its start is
    /// due. `Ready(true)`: it may start. `Pending`: its start waits until the waker of `cx` is woken.
    /// `Ready(false)` takes the candidate back, and the race draws the next one. The source may
    /// replace the candidate with a better one.
    ///
    /// A race draws one candidate ahead, which waits for its start, so nothing should be reserved
    /// before. Gates and budgets are asked after this. After `Ready(true)`,
    /// [`attempt`](Self::attempt) or [`put_back`](Self::put_back) follows; only if a gate, a budget
    /// or an observer panics, this may be called again first. Default: `Ready(true)`.
    #[inline]
    fn poll_reserve(
        &mut self,
        candidate: &mut Self::Candidate,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        let _ = (candidate, cx);
        Poll::Ready(true)
    }

    /// Gives back what [`poll_reserve`](Self::poll_reserve) has reserved or is waiting for, because
    /// the attempt does not start now: a gate or a budget refused it, its start has moved away, or
    /// the race starts nothing any more. The candidate may be due again later, and is asked about
    /// again then. Also called if nothing was reserved. A race that is dropped drops its source
    /// instead.
    ///
    /// Default: nothing. A source that wraps another one must forward it.
    #[inline]
    fn put_back(&mut self, candidate: &mut Self::Candidate) {
        let _ = candidate;
    }

    /// Tells the source that the next call is [`attempt`](Self::attempt), and how long that attempt
    /// may take: `time_left` returns the time until the deadline of the race or the attempt timeout,
    /// whichever comes first, and `None` without both. It may read the clock, so call it only if the
    /// answer is needed.
    ///
    /// Default: nothing. A source that wraps another one must forward it.
    #[inline]
    fn begin_attempt(&mut self, time_left: impl FnOnce() -> Option<Duration>) {
        let _ = time_left;
    }

    /// Returns the handles of the attempts, if they have some. The answer must not change. A source
    /// that wraps another one must forward it.
    ///
    /// Default: `None`.
    #[cfg(feature = "alloc")]
    #[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
    #[inline]
    fn handles(&mut self) -> Option<&mut Handles> {
        None
    }

    /// Gives an attempt the span to be polled in, before its first poll.
    #[cfg(feature = "tracing")]
    #[doc(hidden)]
    #[inline]
    fn instrument(attempt: &mut Self::Attempt, span: impl FnOnce() -> Option<tracing::Span>) {
        let _ = (attempt, span);
    }

    /// Returns bounds on the number of remaining candidates, as for iterators.
    ///
    /// Default: unknown.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }
}

macro_rules! opaque_debug {
    ($name:ident<$($param:ident),*>) => {
        impl<$($param),*> core::fmt::Debug for $name<$($param),*> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use opaque_debug;
