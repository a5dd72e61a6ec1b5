use super::{GenericRaceError, Won};
use crate::observe::Refusal;

/// How many attempts must be accepted, and what the race resolves to.
///
/// `A` is the type of the arguments, `V` that of accepted outputs, and `L` that of the list of
/// failures.
#[doc(hidden)]
pub trait Goal<A, V, L> {
    /// What the race resolves to when the goal is reached.
    type Value;
    /// What the race resolves to otherwise.
    type Error;

    /// Returns the value if the goal needs no attempt at all.
    #[inline]
    fn reached_at_once(&mut self) -> Option<Self::Value> {
        None
    }

    /// Counts an accepted attempt. Returns the value if that reaches the goal.
    fn accept(&mut self, won: Won<A, V>) -> Option<Self::Value>;

    /// Whether the goal can be reached if at most `at_most` more attempts are accepted.
    #[inline]
    fn is_in_reach(&self, at_most: impl FnOnce() -> Option<usize>) -> bool {
        let _ = at_most;
        true
    }

    fn missed(&mut self, why: Missed, failed: L) -> Self::Error;
}

/// Why a goal was not reached.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Missed {
    NoCandidates,
    OutOfReach(Option<Refusal>),
    /// The last failure is fatal.
    Fatal,
    Deadline,
}

/// The goal of `first_ok` and `first_by`: one accepted attempt.
#[derive(Clone, Copy, Debug)]
pub struct One;

impl<A, V, L> Goal<A, V, L> for One {
    type Value = Won<A, V>;
    type Error = GenericRaceError<L>;

    #[inline]
    fn accept(&mut self, won: Won<A, V>) -> Option<Won<A, V>> {
        Some(won)
    }

    fn missed(&mut self, why: Missed, failed: L) -> GenericRaceError<L> {
        match why {
            Missed::NoCandidates => GenericRaceError::NoCandidates,
            Missed::OutOfReach(refused) => GenericRaceError::AllFailed { failed, refused },
            Missed::Fatal => GenericRaceError::Fatal { failed },
            Missed::Deadline => GenericRaceError::Deadline { failed },
        }
    }
}
