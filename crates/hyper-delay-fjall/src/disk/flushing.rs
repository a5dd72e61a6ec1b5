//! Decides when a store on an almost full disk flushes its memtables.
//!
//! Compactions free the space of finished tasks, and the library compacts a space only after some
//! new tables. With room on the disk, new tasks cause new tables. On a full disk there are no new
//! tasks, so the store flushes whenever an eighth of the tasks is finished.

use std::time::{Duration, Instant};

use hyper_delay_store::Room;

/// Below this room for new tasks, in bytes, the store flushes as tasks are finished.
const SHORT: u64 = 64 << 20;

/// Minimum time between two flushes.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of flushes until the library compacts, and then until it deletes the compacted files.
const FLUSHES: u32 = 4 + 2;

/// Decides when to flush.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    /// Maximum number of tasks since the last decision to flush.
    tasks: u64,
    last: Option<Instant>,
    left: u32,
}

impl Flushing {
    /// Returns whether to flush now, with this room and number of tasks.
    pub(super) fn is_due(&mut self, room: Room, tasks: u64, now: Instant) -> bool {
        self.tasks = self.tasks.max(tasks);
        if room.new_tasks() >= SHORT {
            self.tasks = tasks;
            self.left = 0;
            return false;
        }
        if room.is_exhausted() || self.last.is_some_and(|last| now < last + PAUSE) {
            return false;
        }
        if self.tasks - tasks > self.tasks / 8 {
            self.tasks = tasks;
            self.left = FLUSHES;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.last = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finishing_an_eighth_of_the_tasks_starts_some_flushes() {
        let mut flushing = Flushing::default();
        let short = Room::for_new_tasks(SHORT - 1);
        let start = Instant::now();
        let mut seconds = 0;
        let mut flushes = |tasks| {
            let due = |_: &u64| {
                seconds += 1;
                flushing.is_due(short, tasks, start + Duration::from_secs(seconds))
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
        let mut flushing = Flushing::default();
        let short = Room::for_new_tasks(0);
        let start = Instant::now();
        let mut is_due =
            |tasks, millis| flushing.is_due(short, tasks, start + Duration::from_millis(millis));
        assert!(!is_due(100, 0));
        assert!(is_due(50, 1));
        assert!(!is_due(10, 1_000));
        assert!(is_due(10, 1_001));
    }

    #[test]
    fn a_disk_with_ample_room_or_none_is_not_flushed() {
        let mut flushing = Flushing::default();
        let now = Instant::now();
        assert!(!flushing.is_due(Room::for_new_tasks(SHORT), 100, now));
        assert!(!flushing.is_due(Room::for_new_tasks(SHORT), 10, now));
        assert!(!flushing.is_due(Room::for_new_tasks(0), 10, now));
        assert!(!flushing.is_due(Room::none(), 0, now));
        assert!(flushing.is_due(Room::for_new_tasks(0), 0, now));
    }
}
