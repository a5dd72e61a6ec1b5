use core::{fmt, time::Duration};

use crate::Moment;

/// What happened in a race, to which attempt, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The index of the attempt: the number of attempts that started before it.
    pub index: usize,
    /// Why the attempt started, or was about to start.
    pub cause: Cause,
    /// The time of the event, on the observer's clock.
    pub at: Moment,
    /// How long the attempt had run; zero for an attempt that did not run.
    pub ran: Duration,
    /// What happened.
    pub kind: EventKind,
    /// Whether the attempt has committed: see `AttemptHandle::commit`. Then the race has been
    /// decided for it before this event, or by it.
    pub committed: bool,
}

impl Event {
    /// Creates an event of an attempt that has not committed, for tests of observers.
    #[must_use]
    pub fn new(index: usize, cause: Cause, at: Moment, ran: Duration, kind: EventKind) -> Self {
        Self {
            index,
            cause,
            at,
            ran,
            kind,
            committed: false,
        }
    }
}

/// What happened to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The attempt started. Its first poll follows.
    Started,
    /// The attempt committed and runs on. The attempts that have lost by it are cancelled next.
    Committed,
    /// The attempt finished in a race that is read as a stream, which has no winners or failures.
    Finished,
    /// The attempt won, or counts towards the quorum.
    Won,
    /// The attempt finished and its output was not accepted.
    Failed,
    /// The attempt exceeded the attempt timeout and was dropped. A timeout is a failure.
    TimedOut,
    /// The attempt was dropped while it ran: another attempt won or committed; the race failed,
    /// passed its deadline or was dropped; or the attempt panicked. A panic is reported in the next
    /// poll.
    Cancelled,
    /// The attempt was due and could not start. Not repeated while attempt and reason stay the
    /// same.
    Refused(Refusal),
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Started => "started",
            Self::Committed => "committed",
            Self::Finished => "finished",
            Self::Won => "won",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::Refused(refusal) => return write!(f, "refused by {refusal}"),
        })
    }
}

/// Why an attempt starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// It is the first attempt of the race.
    First,
    /// The delay passed while another attempt was running. This is a hedge.
    Delay,
    /// An earlier attempt failed, and [`OnFailure`](crate::OnFailure) starts the next one. A
    /// backoff, a minimum gap or a pushback may lie between the failure and the start. Also if the
    /// delay makes it due at the same time.
    Failure,
    /// No other attempt was running.
    Idle,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Delay => "delay",
            Self::Failure => "failure",
            Self::Idle => "idle",
        })
    }
}

/// What kept an attempt from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// As many attempts are running as `max_in_flight` allows. The attempt can start when one
    /// finishes. Reported as soon as the limit is reached and another candidate may exist, whether
    /// or not its delay has passed.
    MaxInFlight,
    /// As many attempts have started as `max_attempts` allows.
    MaxAttempts,
    /// The gate answered [`Permit::Stop`](crate::policy::Permit::Stop) or
    /// [`Permit::NotNow`](crate::policy::Permit::NotNow).
    Gate,
    /// The budget is used up.
    Budget,
    /// A classifier answered `Verdict::NoMoreStarts`, or `Verdict::NotBefore` with a time that never
    /// passes.
    Verdict,
    /// The deadline of the race comes before the earliest moment at which delay, pause, minimum gap,
    /// pushback or gate allow the attempt to start, or at that moment.
    Deadline,
    /// The policy gives no delay, or options such as [`OnFailure::Wait`](crate::OnFailure::Wait)
    /// and `min_gap` leave nothing that could start the attempt.
    Policy,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxInFlight => "max_in_flight",
            Self::MaxAttempts => "max_attempts",
            Self::Gate => "the gate",
            Self::Budget => "the budget",
            Self::Verdict => "the verdict on a failure",
            Self::Deadline => "the deadline",
            Self::Policy => "the policy",
        })
    }
}
