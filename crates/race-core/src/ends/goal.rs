use alloc::vec::Vec;
use core::pin::Pin;

use super::{Failed, RaceError, Won};

/// What it takes for a race to be won, and what comes back then.
///
/// `R` is the race, `A` the type of its arguments, `V` and `E` what winners and failures give.
pub trait Goal<R, A, V, E> {
    /// What comes back in the end.
    type Output;

    #[doc(hidden)]
    type Reached;

    /// If it is reached before anything was accepted.
    #[doc(hidden)]
    #[inline]
    fn reached_at_once(&mut self) -> Option<Self::Reached> {
        None
    }

    /// Whether that was the last that it took.
    #[doc(hidden)]
    fn accept(&mut self, won: Won<A, V>) -> Option<Self::Reached>;

    /// Whether it can be reached, with no more than so many attempts that may still be accepted.
    #[doc(hidden)]
    #[inline]
    fn is_in_reach(&self, at_most: impl FnOnce() -> Option<usize>) -> bool {
        let _ = at_most;
        true
    }

    /// The race may be taken, and is dropped if it is not.
    #[doc(hidden)]
    fn won(&mut self, reached: Self::Reached, race: Pin<&mut Option<R>>) -> Self::Output;

    /// The failures are in the order of the candidates.
    #[doc(hidden)]
    fn lost(
        &mut self,
        why: Lost<A, E>,
        failed: Vec<Failed<A, E>>,
        race: Pin<&mut Option<R>>,
    ) -> Self::Output;
}

/// Why it was not reached.
#[derive(Debug)]
pub enum Lost<A, E> {
    /// Nothing ever started.
    Empty,
    /// It cannot be reached any more.
    OutOfReach,
    Fatal(Failed<A, E>),
    Deadline,
}

/// The first that is accepted.
#[derive(Clone, Copy, Debug)]
pub struct One;

impl<R, A, V, E> Goal<R, A, V, E> for One {
    type Output = Result<Won<A, V>, RaceError<A, E>>;
    type Reached = Won<A, V>;

    #[inline]
    fn accept(&mut self, won: Won<A, V>) -> Option<Won<A, V>> {
        Some(won)
    }

    #[inline]
    fn won(&mut self, reached: Won<A, V>, _: Pin<&mut Option<R>>) -> Self::Output {
        Ok(reached)
    }

    fn lost(
        &mut self,
        why: Lost<A, E>,
        failed: Vec<Failed<A, E>>,
        _: Pin<&mut Option<R>>,
    ) -> Self::Output {
        Err(match why {
            Lost::Empty => RaceError::NoCandidates,
            Lost::OutOfReach => RaceError::AllFailed(failed),
            Lost::Fatal(fatal) => RaceError::Fatal { fatal, failed },
            Lost::Deadline => RaceError::Deadline { failed },
        })
    }
}
