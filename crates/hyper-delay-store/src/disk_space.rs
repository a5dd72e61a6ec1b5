//! Disk space for new tasks, checked before each batch.

/// Bytes that finishing a task takes: one ack, retry or dead letter of a task with long names, as
/// the journal record, the memtable entries and their share of a compaction.
pub const FINISHING_BYTES_PER_TASK: u64 = 2 << 10;

/// The number of times that a new task is written: to the journal, to a table, and to the table of
/// a compaction.
pub const WRITE_AMPLIFICATION: u64 = 3;

/// Free space on the disk of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    new_tasks: u64,
    exhausted: bool,
}

impl DiskSpace {
    /// No limit.
    pub const UNLIMITED: Self = Self {
        new_tasks: u64::MAX,
        exhausted: false,
    };

    /// Space for `new_tasks` bytes of new tasks, as [`cost`](Self::cost) counts them. If it is
    /// `exhausted`, there is no space for changes of stored tasks either.
    #[must_use]
    pub const fn new(new_tasks: u64, exhausted: bool) -> Self {
        Self {
            new_tasks,
            exhausted,
        }
    }

    /// Space for `bytes` bytes of new tasks, as [`cost`](Self::cost) counts them.
    #[cfg(any(test, feature = "test-util"))]
    #[must_use]
    pub const fn for_new_tasks(bytes: u64) -> Self {
        Self {
            new_tasks: bytes,
            exhausted: false,
        }
    }

    /// No space, not even for an ack.
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

    /// Returns whether there is no space for changes of stored tasks either.
    #[must_use]
    pub const fn is_exhausted(self) -> bool {
        self.exhausted
    }

    /// Returns whether a batch of `bytes` bytes that schedules `schedules` tasks fits. A batch that
    /// schedules none may use the space that is reserved for changes of stored tasks.
    #[must_use]
    pub const fn admits(self, schedules: u64, bytes: usize) -> bool {
        match schedules {
            0 => !self.exhausted,
            _ => {
                let finishing = schedules.saturating_mul(FINISHING_BYTES_PER_TASK);
                finishing.saturating_add(WRITE_AMPLIFICATION * bytes as u64) <= self.new_tasks
            }
        }
    }

    /// Returns the space less these bytes, which are left to other stores.
    #[must_use]
    pub const fn without(self, bytes: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.saturating_sub(bytes),
            ..self
        }
    }

    /// Limits the space for new tasks to `new_tasks` bytes.
    #[must_use]
    pub fn limited_to(self, new_tasks: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.min(new_tasks),
            ..self
        }
    }

    /// Returns the number of bytes that a new task takes until it is finished: the journal record,
    /// the table, the copy in a compaction, and the bytes to finish it. `payload` and `names` are
    /// lengths in bytes.
    #[must_use]
    pub const fn cost(payload: usize, names: usize) -> u64 {
        WRITE_AMPLIFICATION * (payload as u64 + 3 * names as u64 + 400) + FINISHING_BYTES_PER_TASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_changes_needs_no_space_for_new_tasks() {
        let full = DiskSpace::for_new_tasks(0);
        assert!(full.admits(0, 64 << 10) && !full.admits(1, 1));
        assert!(!DiskSpace::none().admits(0, 1) && !DiskSpace::none().admits(1, 1));
        let some =
            DiskSpace::for_new_tasks(WRITE_AMPLIFICATION * 100 + 2 * FINISHING_BYTES_PER_TASK);
        assert!(some.admits(2, 100));
        assert!(!some.admits(2, 101) && !some.admits(3, 100));
        assert!(DiskSpace::UNLIMITED.admits(u64::MAX, 1 << 20));
    }
}
