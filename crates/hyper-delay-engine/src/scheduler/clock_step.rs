//! Notices that the wall clock was set.

use crate::clock::Now;

/// How far the wall clock may drift, in nanoseconds, before timers are set anew.
const STEP: u128 = 250_000_000;

/// Detects steps of the wall clock: changes of its offset to the monotonic clock.
#[derive(Debug)]
pub(super) struct ClockStep {
    /// The offset by which timers are set, in nanoseconds.
    offset: i128,
}

impl ClockStep {
    pub(super) fn new(now: Now) -> Self {
        Self {
            offset: now.offset(),
        }
    }

    /// Returns by how many milliseconds the wall clock was set since the last step that was
    /// returned. `None` if it was not set.
    pub(super) fn take(&mut self, now: Now) -> Option<i128> {
        let by = now.offset() - self.offset;
        if by.unsigned_abs() <= STEP {
            return None;
        }
        self.offset = now.offset();
        Some(by / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use race_wheel::Tick;

    use super::*;

    fn now(wall_millis: u64) -> Now {
        Now {
            wall_nanos: wall_millis * 1_000_000,
            monotonic: Tick::ZERO,
        }
    }

    #[test]
    fn only_a_step_of_the_wall_clock_counts_as_setting_it() {
        let mut clock_step = ClockStep::new(now(1_000));
        assert_eq!(clock_step.take(now(1_250)), None);
        assert_eq!(clock_step.take(now(1_300)), Some(300));
        assert_eq!(clock_step.take(now(1_300)), None);
        assert_eq!(clock_step.take(now(300)), Some(-1_000));
    }
}
