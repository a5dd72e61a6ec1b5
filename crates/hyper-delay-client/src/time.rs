//! Times of the protocol: Unix milliseconds.

use std::time::{Duration, SystemTime};

/// Returns Unix milliseconds. A time before 1970 counts as 0.
pub(crate) fn to_millis(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, whole_millis)
}

/// Returns whole milliseconds, rounded up, so that a task is never early.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns the time of Unix milliseconds; `None` if the system's clock cannot represent it.
pub(crate) fn from_millis(millis: u64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{from_millis, to_millis, whole_millis};

    #[test]
    fn part_of_a_millisecond_counts_as_one() {
        assert_eq!(whole_millis(Duration::from_nanos(1)), 1);
        assert_eq!(whole_millis(Duration::from_millis(5)), 5);
        assert_eq!(whole_millis(Duration::MAX), u64::MAX);
    }

    #[test]
    fn before_1970_is_its_beginning() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(to_millis(before), 0);
        assert_eq!(
            to_millis(from_millis(1_732_616_400_000).unwrap()),
            1_732_616_400_000
        );
    }
}
