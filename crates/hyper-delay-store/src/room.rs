//! The room on a disk, as far as new tasks may take it.

/// Bytes for one ack, retry or dead letter of a task with long names: the journal record, the
/// memtable entries and their share of a compaction.
pub const PER_TASK: u64 = 2 << 10;

/// How often a new task is written: to the journal, to a table, and to the table of a compaction.
pub const COPIES: u64 = 3;

/// Room on the disk of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    new_tasks: u64,
    exhausted: bool,
}

impl Room {
    /// Room without a limit.
    pub const AMPLE: Self = Self {
        new_tasks: u64::MAX,
        exhausted: false,
    };

    /// Room for `new_tasks` bytes of new tasks, as [`cost`](Self::cost) counts them. If it is
    /// `exhausted`, there is no room for changes of stored tasks either.
    #[must_use]
    pub const fn new(new_tasks: u64, exhausted: bool) -> Self {
        Self {
            new_tasks,
            exhausted,
        }
    }

    /// Room for `bytes` bytes of new tasks, as [`cost`](Self::cost) counts them.
    #[cfg(any(test, feature = "test-util"))]
    #[must_use]
    pub const fn for_new_tasks(bytes: u64) -> Self {
        Self {
            new_tasks: bytes,
            exhausted: false,
        }
    }

    /// No room, not even for an ack.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            new_tasks: 0,
            exhausted: true,
        }
    }

    /// Returns the number of bytes for new tasks.
    #[must_use]
    pub const fn new_tasks(self) -> u64 {
        self.new_tasks
    }

    /// Returns whether there is no room for changes of stored tasks either.
    #[must_use]
    pub const fn is_exhausted(self) -> bool {
        self.exhausted
    }

    /// Returns whether there is room for a batch of `bytes` bytes that schedules `schedules` tasks.
    /// A batch that schedules none may use the room that is kept for changes of stored tasks.
    #[must_use]
    pub const fn takes(self, schedules: u64, bytes: usize) -> bool {
        match schedules {
            0 => !self.exhausted,
            _ => {
                let finishing = schedules.saturating_mul(PER_TASK);
                finishing.saturating_add(COPIES * bytes as u64) <= self.new_tasks
            }
        }
    }

    /// Returns the room without these bytes, which are left to others.
    #[must_use]
    pub const fn without(self, bytes: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.saturating_sub(bytes),
            ..self
        }
    }

    /// Limits the room for new tasks to `new_tasks` bytes.
    #[must_use]
    pub fn with_at_most(self, new_tasks: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.min(new_tasks),
            ..self
        }
    }

    /// Returns the number of bytes that a new task takes until it is finished: the journal record,
    /// the table, the copy in a compaction, and the room to finish it. `payload` and `names` are
    /// lengths in bytes.
    #[must_use]
    pub const fn cost(payload: usize, names: usize) -> u64 {
        COPIES * (payload as u64 + 3 * names as u64 + 400) + PER_TASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_changes_needs_no_room_for_new_tasks() {
        let full = Room::for_new_tasks(0);
        assert!(full.takes(0, 64 << 10) && !full.takes(1, 1));
        assert!(!Room::none().takes(0, 1) && !Room::none().takes(1, 1));
        let some = Room::for_new_tasks(COPIES * 100 + 2 * PER_TASK);
        assert!(some.takes(2, 100));
        assert!(!some.takes(2, 101) && !some.takes(3, 100));
        assert!(Room::AMPLE.takes(u64::MAX, 1 << 20));
    }
}
