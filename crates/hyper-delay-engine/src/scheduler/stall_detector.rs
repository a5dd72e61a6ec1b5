//! Stalls: the scheduler is called much later than it has asked to be, because its process was
//! stopped, a disk was slow, or the machine was suspended.
//!
//! Consumers may have answered in time meanwhile. Their answers wait in sockets, or in the queue of
//! the scheduler's thread, and would come too late. So the rounds end later. What counts real time
//! for its proof does not move: due times, expiries, leases.

use std::time::Duration;

use race_wheel::Tick;

use super::tick::NextCall;
use crate::clock::nanos;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::stalls";

/// A call that comes later than this is a stall.
const LATE: Duration = Duration::from_millis(100);

/// A stall of this length is logged.
const LONG: Duration = Duration::from_secs(1);

/// The latest moment for the next call of the scheduler.
#[derive(Debug, Default)]
pub(super) struct StallDetector {
    /// At this moment at the latest. `None`: there is nothing to do.
    due: Option<Tick>,
}

impl StallDetector {
    /// Notes the time of the next call.
    pub(super) fn expect_call(&mut self, next: NextCall, now: Tick) {
        self.due = match next {
            NextCall::Now => Some(now),
            NextCall::At(at) => Some(at),
            NextCall::Never => None,
        };
    }

    /// An input has arrived: the scheduler must be called at once.
    pub(super) fn note_input(&mut self, now: Tick) {
        self.due = self.due.map(|due| due.min(now));
    }

    /// Returns whether the scheduler is called so late by now that it is a stall.
    pub(super) fn is_late(&self, now: Tick) -> bool {
        let due = self.due.unwrap_or(now);
        Duration::from_nanos(now.since(due)) > LATE
    }

    /// The scheduler is called. Returns by how much that is later than it was due, if it is a stall.
    pub(super) fn take_lateness(&mut self, now: Tick) -> Option<Duration> {
        let late = Duration::from_nanos(now.since(self.due.take()?));
        if late >= LONG {
            let milliseconds = nanos(late) / 1_000_000;
            tracing::warn!(
                target: TARGET,
                milliseconds,
                "the server stood still: what is delivered can be answered for longer",
            );
        }
        (late > LATE).then_some(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    fn at(millis: u64) -> Tick {
        Tick::new(millis * MILLI)
    }

    #[test]
    fn only_a_call_that_comes_late_is_a_stall() {
        let mut stalls = StallDetector::default();
        assert_eq!(stalls.take_lateness(at(1_000)), None, "the first one");
        stalls.expect_call(NextCall::Never, at(1_000));
        assert_eq!(
            stalls.take_lateness(at(9_000)),
            None,
            "nothing was to be done"
        );
        for (called, late) in [
            (1_000, None),
            (1_100, None),
            (1_101, Some(101)),
            (5_000, Some(4_000)),
        ] {
            stalls.expect_call(NextCall::At(at(1_000)), at(0));
            let late = late.map(Duration::from_millis);
            assert_eq!(stalls.take_lateness(at(called)), late, "{called}");
        }
        stalls.expect_call(NextCall::Now, at(1_000));
        assert_eq!(
            stalls.take_lateness(at(2_000)),
            Some(Duration::from_secs(1))
        );
        // An event comes before the time, or after it.
        for (told, late) in [
            (500, Some(1_500)),
            (1_950, Some(1_000)),
            (3_000, Some(1_000)),
        ] {
            stalls.expect_call(NextCall::At(at(1_000)), at(0));
            stalls.note_input(at(told));
            let late = late.map(Duration::from_millis);
            assert_eq!(stalls.take_lateness(at(2_000)), late, "{told}");
        }
    }
}
