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
    fn accept(&mut self, won: Won<A, V>);

    #[doc(hidden)]
    fn is_reached(&self) -> bool;

    /// Whether it can be, with no more than so many attempts that may still be accepted.
    #[doc(hidden)]
    #[inline]
    fn is_in_reach(&self, at_most: impl FnOnce() -> Option<usize>) -> bool {
        let _ = at_most;
        true
    }

    /// The race may be taken, and is dropped if it is not.
    #[doc(hidden)]
    fn end(
        &mut self,
        ended: Ended<A, E>,
        failed: Vec<Failed<A, E>>,
        race: Pin<&mut Option<R>>,
    ) -> Self::Output;
}

/// Why it has ended.
#[derive(Debug)]
pub enum Ended<A, E> {
    Reached,
    /// Nothing ever started.
    Empty,
    /// It cannot be reached any more.
    OutOfReach,
    Fatal(Failed<A, E>),
    Deadline,
}

/// The first that is accepted.
#[derive(Clone, Debug)]
pub struct One<A, V> {
    won: Option<Won<A, V>>,
}

impl<A, V> One<A, V> {
    pub(crate) fn new() -> Self {
        Self { won: None }
    }
}

impl<R, A, V, E> Goal<R, A, V, E> for One<A, V> {
    type Output = Result<Won<A, V>, RaceError<A, E>>;

    #[inline]
    fn accept(&mut self, won: Won<A, V>) {
        self.won = Some(won);
    }

    #[inline]
    fn is_reached(&self) -> bool {
        self.won.is_some()
    }

    fn end(
        &mut self,
        ended: Ended<A, E>,
        failed: Vec<Failed<A, E>>,
        _: Pin<&mut Option<R>>,
    ) -> Self::Output {
        if let Some(won) = self.won.take() {
            return Ok(won);
        }
        Err(match ended {
            Ended::Empty => RaceError::NoCandidates,
            Ended::Reached | Ended::OutOfReach => RaceError::AllFailed(failed),
            Ended::Fatal(fatal) => RaceError::Fatal { fatal, failed },
            Ended::Deadline => RaceError::Deadline { failed },
        })
    }
}
