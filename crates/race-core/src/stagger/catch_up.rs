use super::due::NEVER;
use crate::Moment;

/// What a race does about starts that it missed because it was not polled in time.
///
/// The names and meanings are those of tokio's `MissedTickBehavior`. Waiting for `max_in_flight`,
/// for a candidate, for a failure or for a pushback is not lateness and is not made up for.
///
/// Default: [`CatchUp::Delay`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// Start one attempt, and the next one a full delay later. Two starts are never closer than
    /// the delay.
    #[default]
    Delay,
    /// Start all missed attempts as fast as polling allows, then continue on the original schedule.
    Burst,
    /// Start one attempt, and the next one at the following multiple of the delay on the original
    /// schedule.
    Skip,
}

impl CatchUp {
    /// Returns whether the next start depends only on when the latest one was `planned`.
    pub(super) fn ignores_clock(self, planned: Moment) -> bool {
        self == Self::Burst && planned != Moment::NEVER
    }

    /// Returns when the next attempt is due, `delay` nanoseconds after a start at `now` that was
    /// `planned` for an earlier moment; `NEVER` if it was not planned.
    pub(super) fn next_start(self, planned: Moment, delay: u64, now: Moment) -> Moment {
        match self {
            Self::Burst if planned != Moment::NEVER => planned.plus_nanos(delay),
            Self::Skip if planned != Moment::NEVER && delay != NEVER => {
                // The first multiple of the delay after `planned` that is later than `now`.
                let late = now.as_nanos().saturating_sub(planned.as_nanos());
                now.max(planned).plus_nanos(delay - late % delay)
            }
            _ => now.plus_nanos(delay),
        }
    }
}
