//! When it is too late to write a delivery.

use std::time::Duration;

use race_wheel::Tick;

use crate::clock::nanos;

/// The longest time before the end of a round in which nothing is written.
const MOST: Duration = Duration::from_secs(1);

/// Returns the moment from which on nothing is written of a delivery whose time to answer ends at
/// `until`: a tenth of that time before its end, and at most 1 s.
pub(super) fn write_by(until: Tick, time: Duration) -> Tick {
    let left = nanos((time / 10).min(MOST));
    Tick::new(until.value().saturating_sub(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tenth_is_not_for_writing_and_at_most_a_second() {
        let until = Tick::new(100_000_000_000);
        let left = |time| until.since(write_by(until, time));
        assert_eq!(left(Duration::from_secs(5)), 500_000_000);
        assert_eq!(left(Duration::from_secs(30)), 1_000_000_000);
        assert_eq!(left(Duration::ZERO), 0);
    }
}
