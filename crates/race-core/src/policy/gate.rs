use core::{fmt, marker::PhantomData, time::Duration};

use super::Hook;
use crate::observe::Cause;

/// The state of a race when an attempt is about to start.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RaceState<'a> {
    /// The index of the attempt, counted from 0; also the number of attempts started so far.
    pub index: usize,
    /// Why the attempt would start.
    pub cause: Cause,
    /// The number of running attempts.
    pub running: usize,
    /// The number of failed attempts. Always 0 in a race that is read as a stream.
    pub failed: usize,
    /// The number of attempts that must be accepted: the quorum, or one.
    pub needed: usize,
    pub(crate) elapsed: &'a dyn Fn() -> Duration,
}

impl RaceState<'_> {
    /// Returns how long the race has taken so far. Reads the clock.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        (self.elapsed)()
    }
}

impl fmt::Debug for RaceState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaceState")
            .field("index", &self.index)
            .field("cause", &self.cause)
            .field("running", &self.running)
            .field("failed", &self.failed)
            .field("needed", &self.needed)
            .finish_non_exhaustive()
    }
}

/// The answer of a gate. A `bool` converts: `true` is [`Start`](Permit::Start), `false` is
/// [`Stop`](Permit::Stop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Permit {
    /// The attempt starts.
    Start,
    /// The attempt does not start now. The gate is asked again when the delay has passed once more,
    /// or the minimum gap if the delay is zero, or when a failure makes the attempt due. Same as
    /// [`Stop`](Permit::Stop) if the policy returned no delay, or if both the delay and the minimum
    /// gap are zero.
    NotNow,
    /// The delay starts nothing any more. The gate is asked once more when a failure makes an
    /// attempt due, and when no attempt is running; if it refuses with nothing running, the race
    /// ends. In a race that is read as a stream, and in `first`, nothing starts any more.
    Stop,
}

impl From<bool> for Permit {
    fn from(start: bool) -> Self {
        match start {
            true => Self::Start,
            false => Self::Stop,
        }
    }
}

/// A gate attached to a race, as `Race::gate` makes it.
#[derive(Clone)]
pub struct Gate<G, A> {
    gate: G,
    /// The type of the gate's answer.
    answer: PhantomData<fn() -> A>,
}

impl<G, A> Gate<G, A> {
    pub(crate) fn new(gate: G) -> Self {
        Self {
            gate,
            answer: PhantomData,
        }
    }
}

impl<A: Into<Permit>, G: FnMut(&RaceState<'_>) -> A> Hook for Gate<G, A> {
    fn permit(&mut self, state: &RaceState<'_>) -> Permit {
        (self.gate)(state).into()
    }
}

impl<G, A> fmt::Debug for Gate<G, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
