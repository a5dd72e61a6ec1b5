use core::{fmt, time::Duration};

use crate::{Moment, Suppressed};

/// What happened in a race, to which attempt, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The place of the attempt: how many had started before it.
    pub place: usize,
    /// When it happened, by the observer's clock.
    pub at: Moment,
    /// How long the attempt had run then; zero for one that did not run.
    pub ran: Duration,
    /// What happened.
    pub what: What,
}

impl Event {
    /// An event, as for a test of an observer.
    #[must_use]
    pub fn new(place: usize, at: Moment, ran: Duration, what: What) -> Self {
        Self {
            place,
            at,
            ran,
            what,
        }
    }
}

/// What happened to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// It started; its first poll comes next.
    Started,
    /// It finished, and the race was read as a stream, which knows neither winners nor failures.
    Finished,
    /// It won, or is one of those that a quorum is made of.
    Won,
    /// It finished, and its output was not accepted.
    Failed,
    /// It ran as long as an attempt may, and was dropped. That counts as a failure.
    TimedOut,
    /// It was dropped while it ran: another had won, the race had failed or was over its deadline, or was
    /// dropped itself. An attempt that panicked is among these.
    Cancelled,
    /// It was about to start, and was not allowed to. Said once, however often that is found.
    Suppressed(Suppressed),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Won => "won",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::Suppressed(Suppressed::Bound) => "held up by the bound",
            Self::Suppressed(Suppressed::Gate) => "stopped by the gate",
            Self::Suppressed(Suppressed::Budget) => "stopped by the budget",
        })
    }
}
