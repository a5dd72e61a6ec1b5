use crate::Moment;

/// What a race does about starts that it missed, because nobody polled it in time.
///
/// The names and meanings are those of tokio's `MissedTickBehavior`. Waiting for the bound, for a
/// candidate, for a failure or for what a failure asked for is not lateness: nothing is owed for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// Start one, and the next a full step after it: two starts are never closer than the step.
    #[default]
    Delay,
    /// Start all that were missed as fast as polling allows, then go on as if none had been late.
    Burst,
    /// Start one, and the next at the following multiple of the step, on the old grid.
    Skip,
}

/// What a failed attempt starts, in an end that knows of failures, such as `first_ok`. After such a
/// start the step counts anew.
///
/// But for [`Wait`](OnFailure::Wait), the next also starts at once when nothing runs any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFailure {
    /// Nothing: the next waits for its time. If none is to come, as it has no step, the race is over once
    /// nothing runs.
    Wait,
    /// The next at once, if the one that failed was the latest to start. The rule of CPython's and Trio's
    /// `staggered_race`.
    #[default]
    IfLatest,
    /// The next at once, if nothing runs any more. OkHttp's rule.
    IfIdle,
    /// The next at once, for each failure. gRPC's rule for hedging.
    Any,
}

/// What to do now, as [`Stagger::next`](super::Stagger::next) sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Start an attempt now.
    Start,
    /// Start one when this moment has come. It may be in the past.
    Until(Moment),
    /// The bound is reached: start none until one has finished.
    Full,
    /// Only a failure makes the next attempt due.
    OnFailure,
    /// No more will be started.
    Over,
}
