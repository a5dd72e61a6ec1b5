//! Computes how much of a disk new tasks may take.
//!
//! A full disk must still take the acks, retries and dead letters of its tasks. So new tasks are
//! admitted only while the disk also has room for finishing the stored ones: for flushing the
//! memtables, for the copy that a compaction makes, and for the journal records and tombstones of
//! each stored task.

const MIB: u64 = 1 << 20;

/// Bytes for one ack, retry or dead letter of a task with long names: the journal record, the
/// memtable entries and their share of a compaction.
const PER_TASK: u64 = 2 << 10;

/// How often a new task is written: to the journal, to a table, and to the table of a compaction.
pub(super) const COPIES: u64 = 3;

/// Maximum number of bytes for finishing stored tasks, for any number of tasks: journals are
/// deleted once they are flushed, and compactions drop finished tasks.
const FINISHING_MAX: u64 = 512 * MIB;

/// Maximum number of bytes that a compaction copies: a first level of 256 MiB and the tables above.
const COMPACTION_MAX: u64 = 384 * MIB;

/// Bytes for manifests, directories and the start of a new journal.
const SLACK: u64 = MIB;

/// Maximum number of bytes for the changes of one batch to stored tasks.
const BATCH: u64 = 8 * MIB;

/// Bytes for the new tasks of one batch. An eighth of the room on a small disk, if that is less.
const NEW_TASKS_PER_BATCH: u64 = 32 * MIB;

/// The size of the reserve is a multiple of this many bytes.
pub(super) const STEP: u64 = MIB;

/// Maximum number of bytes by which the reserve grows at a time. It bounds the wait of a batch.
const GROWTH_MAX: u64 = 64 * MIB;

/// Room on the disk of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    new_tasks: u64,
    exhausted: bool,
}

impl Room {
    /// Room without a limit.
    pub(crate) const AMPLE: Self = Self {
        new_tasks: u64::MAX,
        exhausted: false,
    };

    /// Room for `bytes` bytes of new tasks, as [`cost`](Self::cost) counts them.
    #[cfg(test)]
    pub(crate) const fn for_new_tasks(bytes: u64) -> Self {
        Self {
            new_tasks: bytes,
            exhausted: false,
        }
    }

    /// No room, not even for an ack.
    #[must_use]
    pub(crate) const fn none() -> Self {
        Self {
            new_tasks: 0,
            exhausted: true,
        }
    }

    /// Returns the number of bytes for new tasks.
    #[must_use]
    pub(crate) const fn new_tasks(self) -> u64 {
        self.new_tasks
    }

    /// Returns whether there is no room for changes of stored tasks either.
    #[must_use]
    pub(crate) const fn is_exhausted(self) -> bool {
        self.exhausted
    }

    /// Returns whether there is room for a batch of `bytes` bytes that schedules `schedules` tasks.
    /// A batch that schedules none may use the room that is kept for changes of stored tasks.
    #[cfg(any(feature = "cluster", test))]
    #[must_use]
    pub(crate) const fn takes(self, schedules: u64, bytes: usize) -> bool {
        match schedules {
            0 => !self.exhausted,
            _ => {
                let finishing = schedules.saturating_mul(PER_TASK);
                finishing.saturating_add(COPIES * bytes as u64) <= self.new_tasks
            }
        }
    }

    /// Returns the room without these bytes, which are left to others.
    #[cfg(any(feature = "cluster", test))]
    #[must_use]
    pub(crate) const fn without(self, bytes: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.saturating_sub(bytes),
            ..self
        }
    }

    /// Limits the room for new tasks to `new_tasks` bytes.
    #[must_use]
    pub(super) fn with_at_most(self, new_tasks: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.min(new_tasks),
            ..self
        }
    }

    /// Returns the number of bytes that a new task takes until it is finished: the journal record,
    /// the table, the copy in a compaction, and the room to finish it. `payload` and `names` are
    /// lengths in bytes.
    #[must_use]
    pub(crate) const fn cost(payload: usize, names: usize) -> u64 {
        COPIES * (payload as u64 + 3 * names as u64 + 400) + PER_TASK
    }
}

/// The contents of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::store) struct Usage {
    /// Bytes in memtables, which will be written to tables.
    pub(in crate::store) unflushed: u64,
    /// Bytes in tables.
    pub(in crate::store) tables: u64,
    /// Bytes of the largest space, including its memtables.
    pub(in crate::store) largest: u64,
    /// Number of tasks in any state.
    pub(in crate::store) tasks: u64,
}

impl Usage {
    /// Returns the number of journal bytes that one batch may need for changes of stored tasks.
    pub(super) fn changes(self) -> u64 {
        (self.tasks.saturating_mul(PER_TASK) / 2).min(BATCH) + SLACK / 8
    }
}

/// The bytes that a store will write even if no task is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Demand {
    flushes: u64,
    compaction: u64,
    finishing: u64,
}

impl Demand {
    fn of(usage: Usage) -> Self {
        Self {
            flushes: usage.unflushed + SLACK,
            compaction: usage.largest.min(COMPACTION_MAX),
            finishing: usage.tasks.saturating_mul(PER_TASK).min(FINISHING_MAX),
        }
    }

    /// Returns the bytes that the next batch may cause to be written.
    fn at_once(self) -> u64 {
        self.flushes + self.compaction + self.finishing.min(BATCH)
    }

    fn all(self) -> u64 {
        self.flushes + self.compaction + self.finishing
    }
}

/// The next size of the reserve and the room for the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// The next size of the reserve in bytes.
    pub(super) reserve: u64,
    pub(super) room: Room,
}

impl Plan {
    /// Plans for a disk with `free` free bytes and a reserve of `reserve` bytes, at most `most`.
    ///
    /// The reserve shrinks by the bytes that the next batch may need and that are not free. It
    /// grows into free bytes that the next batches do not need, up to the demand of the stored
    /// tasks.
    pub(super) fn of(free: u64, reserve: u64, most: u64, usage: Usage) -> Self {
        let demand = Demand::of(usage);
        let all = free.saturating_add(reserve);
        let new_tasks = all.saturating_sub(demand.all());
        let batch = NEW_TASKS_PER_BATCH.min(all / 8);

        let most = most / STEP * STEP;
        let wanted = demand.all().next_multiple_of(STEP).min(most);
        let missing = (demand.at_once() + new_tasks.min(batch)).saturating_sub(free);
        let spare = free.saturating_sub(demand.at_once() + 2 * batch);
        let size = if missing > 0 {
            reserve.saturating_sub(missing.next_multiple_of(STEP))
        } else if reserve < wanted {
            let growth = (wanted - reserve).min(spare / 2).min(GROWTH_MAX);
            reserve + growth / STEP * STEP
        } else if reserve / 2 > wanted + BATCH || reserve > most {
            wanted
        } else {
            reserve
        };
        let free = all - size;
        Self {
            reserve: size,
            room: Room {
                new_tasks: new_tasks.min(free.saturating_sub(demand.at_once())),
                exhausted: all < demand.flushes,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn usage(unflushed: u64, largest: u64, tasks: u64) -> Usage {
        Usage {
            unflushed: unflushed * MIB,
            largest: largest * MIB,
            tables: 0,
            tasks,
        }
    }

    #[test]
    fn new_tasks_get_the_room_that_stored_ones_do_not_need() {
        let plan = Plan::of(100 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.room.new_tasks(), (100 - 8 - 20 - 10 - 1) * MIB);
        assert!(!plan.room.is_exhausted());
        let plan = Plan::of(30 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.room.new_tasks(), 0);
        assert!(!plan.room.is_exhausted());
    }

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

    #[test]
    fn the_reserve_counts_as_room_and_shrinks_batch_by_batch() {
        let usage = usage(8, 20, 10 * 512);
        let plan = Plan::of(8 * MIB, 92 * MIB, GIB, usage);
        // The next batch needs 8 + 1 + 20 + 8, and an eighth of the room for new tasks.
        assert_eq!(plan.reserve, 50 * MIB);
        assert_eq!(plan.room.new_tasks(), 13 * MIB);
    }

    #[test]
    fn new_tasks_get_at_most_the_free_bytes() {
        let usage = usage(3, 9, 700);
        for (free, reserve) in (0..200).flat_map(|free| (0..200).map(move |size| (free, size))) {
            let plan = Plan::of(free * MIB, reserve * MIB, GIB, usage);
            let free = (free + reserve) * MIB - plan.reserve;
            assert!(plan.room.new_tasks() <= free, "{plan:?}");
            assert!(
                plan.reserve == 0 || free >= Demand::of(usage).at_once(),
                "{plan:?}"
            );
        }
    }

    #[test]
    fn the_demand_of_any_number_of_tasks_is_below_a_gibibyte() {
        let plan = Plan::of(2 * GIB, 0, 0, usage(60, 20_000, 1_000_000_000));
        assert_eq!(plan.room.new_tasks(), 2 * GIB - (60 + 1 + 384 + 512) * MIB);
    }

    #[test]
    fn the_reserve_shrinks_by_the_bytes_that_the_next_batch_lacks() {
        // The next batch needs 8 + 1 + 20 + 8.
        let usage = usage(8, 20, 50 * 512);
        let plan = Plan::of(30 * MIB, 49 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 42 * MIB);
        let plan = Plan::of(0, 20 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 0);
        let plan = Plan::of(37 * MIB, 42 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 42 * MIB);
    }

    #[test]
    fn the_reserve_grows_up_to_the_demand() {
        let usage = usage(8, 20, 50 * 512);
        let plan = Plan::of(10 * GIB, 0, GIB, usage);
        assert_eq!(plan.reserve, 64 * MIB);
        let plan = Plan::of(10 * GIB, plan.reserve, GIB, usage);
        assert_eq!(plan.reserve, (8 + 1 + 20 + 50) * MIB);
        let plan = Plan::of(10 * GIB, plan.reserve, GIB, usage);
        assert_eq!(plan.reserve, 79 * MIB);
        assert_eq!(Plan::of(10 * GIB, 0, 5 * MIB, usage).reserve, 5 * MIB);
        assert_eq!(Plan::of(10 * GIB, 0, 0, usage).reserve, 0);
    }

    #[test]
    fn a_shrunk_reserve_does_not_grow_again_at_once() {
        let usage = usage(8, 20, 50 * 512);
        for size in 0..200 {
            let given = Plan::of(20 * MIB, size * MIB, GIB, usage).reserve;
            let free = (20 + size) * MIB - given;
            assert_eq!(
                Plan::of(free, given, GIB, usage).reserve,
                given,
                "of {size}"
            );
        }
    }

    #[test]
    fn the_reserve_shrinks_when_no_tasks_are_stored() {
        let plan = Plan::of(GIB, 500 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 3 * MIB);
        let plan = Plan::of(GIB, 10 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 10 * MIB);
        let plan = Plan::of(GIB, 10 * MIB, 0, usage(1, 1, 0));
        assert_eq!(plan.reserve, 0);
    }

    #[test]
    fn room_is_exhausted_if_the_next_flush_does_not_fit() {
        assert!(
            Plan::of(4 * MIB, 4 * MIB, GIB, usage(8, 8, 1))
                .room
                .is_exhausted()
        );
        assert!(
            !Plan::of(5 * MIB, 4 * MIB, GIB, usage(8, 8, 1))
                .room
                .is_exhausted()
        );
    }
}
