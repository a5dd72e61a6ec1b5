//! When attempts start: the step before each, and what else has a say in it.

mod backoff;
#[cfg(feature = "alloc")]
mod budget;
mod gate;
mod steps;

use core::{fmt, time::Duration};

use crate::What;

pub use backoff::Backoff;
#[cfg(feature = "alloc")]
pub use budget::{Budget, Budgeted};
pub use gate::Gated;
pub use steps::Steps;

/// When attempts start, as long as nothing fails: the step before each.
///
/// [`Fixed`] is the one that a race has unless it is given another by `Race::policy`. [`Steps`] is a list,
/// [`Backoff`] grows, `Adaptive` learns, and any `FnMut(usize) -> Option<Duration>` is a policy too.
///
/// The other methods are for policies around a policy, such as those that `Race::gate` and
/// `Race::budget` make, which hand on to it what they do not answer themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when attempts start",
    note = "a policy is `Fixed`, `Steps`, `Backoff`, `&Adaptive`, `Arc<Adaptive>`, or a closure \
            `|place: usize| -> Option<Duration>`",
    note = "of a `LazyLock` or another pointer, give what it points to: `&*it`"
)]
pub trait Policy {
    /// How long after the attempt before it attempt `place` starts, for `place` from 1 upwards.
    ///
    /// It is asked once for each place, when the attempt before it starts. Zero starts it at once,
    /// `None` only when a failure calls for it. Steps beyond the range of a [`Moment`], about 584
    /// years, are `None`.
    ///
    /// [`Moment`]: crate::Moment
    fn step(&mut self, place: usize) -> Option<Duration>;

    /// Whether an attempt may start, now that its time has come. Never asked for the first.
    ///
    /// After a refusal none starts until a failure calls for it, and then this is asked again.
    ///
    /// # Errors
    ///
    /// Who refuses it.
    #[inline]
    fn admit(&mut self, standing: &Standing<'_>) -> Result<(), Suppressed> {
        let _ = standing;
        Ok(())
    }

    /// What happened to an attempt.
    #[inline]
    fn note(&mut self, place: usize, what: What) {
        let _ = (place, what);
    }
}

/// The same step between any two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(pub Duration);

impl Policy for Fixed {
    #[inline]
    fn step(&mut self, _: usize) -> Option<Duration> {
        Some(self.0)
    }
}

impl<F: FnMut(usize) -> Option<Duration>> Policy for F {
    #[inline]
    fn step(&mut self, place: usize) -> Option<Duration> {
        self(place)
    }
}

/// What held an attempt up, or kept it from starting at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suppressed {
    /// As many ran as may run at once. It can still start when one has finished. This is said as soon as the
    /// bound is reached, if there may be a further candidate, whether or not its time has come.
    Bound,
    /// The gate said stop.
    Gate,
    /// The budget was used up.
    Budget,
}

/// How a race stands when an attempt is about to start.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// The place of the attempt, counted from 0; so as many have been started.
    pub place: usize,
    /// How many run.
    pub running: usize,
    /// How many have failed. A race that is read as a stream knows of no failures.
    pub failed: usize,
    /// How many attempts the answer takes at least: as many as the quorum needs, or one.
    pub needed: usize,
    pub(crate) elapsed: &'a dyn Fn() -> Duration,
}

impl Standing<'_> {
    /// How long the race has taken so far. Asking reads the clock.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        (self.elapsed)()
    }
}

impl fmt::Debug for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("place", &self.place)
            .field("running", &self.running)
            .field("failed", &self.failed)
            .field("needed", &self.needed)
            .finish_non_exhaustive()
    }
}
