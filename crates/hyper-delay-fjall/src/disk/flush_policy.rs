//! Decides when a store on an almost full disk flushes its memtables.
//!
//! Compactions free the space of finished tasks, and the library compacts a space only after some
//! new tables. While the disk has space, new tasks cause new tables. On a full disk there are no new
//! tasks, so the store flushes whenever an eighth of the tasks is finished.

use std::time::{Duration, Instant};

use hyper_delay_store::DiskSpace;

/// With less space for new tasks than this, in bytes, the store flushes as tasks are finished.
const LOW_SPACE: u64 = 64 << 20;

/// Minimum time between two flushes.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Number of flushes until the library compacts, and then until it deletes the compacted files.
const FLUSHES_UNTIL_DELETION: u32 = 4 + 2;

/// Decides when to flush.
#[derive(Debug, Default)]
pub(super) struct FlushPolicy {
    /// Maximum number of tasks since the last decision to flush.
    tasks: u64,
    last: Option<Instant>,
    flushes_left: u32,
}

impl FlushPolicy {
    /// Returns whether to flush now, with this disk space and number of tasks.
    pub(super) fn is_due(&mut self, space: DiskSpace, tasks: u64, now: Instant) -> bool {
        self.tasks = self.tasks.max(tasks);
        if space.new_tasks() >= LOW_SPACE {
            self.tasks = tasks;
            self.flushes_left = 0;
            return false;
        }
        if space.is_exhausted() || self.last.is_some_and(|last| now < last + MIN_INTERVAL) {
            return false;
        }
        if self.tasks - tasks > self.tasks / 8 {
            self.tasks = tasks;
            self.flushes_left = FLUSHES_UNTIL_DELETION;
        }
        if self.flushes_left == 0 {
            return false;
        }
        self.flushes_left -= 1;
        self.last = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finishing_an_eighth_of_the_tasks_starts_some_flushes() {
        let mut policy = FlushPolicy::default();
        let short = DiskSpace::for_new_tasks(LOW_SPACE - 1);
        let start = Instant::now();
        let mut seconds = 0;
        let mut flushes = |tasks| {
            let due = |_: &u64| {
                seconds += 1;
                policy.is_due(short, tasks, start + Duration::from_secs(seconds))
            };
            (0..20).filter(due).count()
        };
        assert_eq!(flushes(800), 0);
        assert_eq!(flushes(700), 0);
        assert_eq!(flushes(699), 6);
        assert_eq!(flushes(690), 0);
        assert_eq!(flushes(0), 6);
    }

    #[test]
    fn flushes_are_at_least_a_second_apart() {
        let mut policy = FlushPolicy::default();
        let short = DiskSpace::for_new_tasks(0);
        let start = Instant::now();
        let mut is_due =
            |tasks, millis| policy.is_due(short, tasks, start + Duration::from_millis(millis));
        assert!(!is_due(100, 0));
        assert!(is_due(50, 1));
        assert!(!is_due(10, 1_000));
        assert!(is_due(10, 1_001));
    }

    #[test]
    fn a_disk_with_ample_space_or_none_is_not_flushed() {
        let mut policy = FlushPolicy::default();
        let now = Instant::now();
        assert!(!policy.is_due(DiskSpace::for_new_tasks(LOW_SPACE), 100, now));
        assert!(!policy.is_due(DiskSpace::for_new_tasks(LOW_SPACE), 10, now));
        assert!(!policy.is_due(DiskSpace::for_new_tasks(0), 10, now));
        assert!(!policy.is_due(DiskSpace::none(), 0, now));
        assert!(policy.is_due(DiskSpace::for_new_tasks(0), 0, now));
    }
}
