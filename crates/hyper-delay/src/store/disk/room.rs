//! How much of a disk new tasks may take.
//!
//! A full disk must still take the acks, retries and dead letters of the tasks that it holds. So a
//! new task is admitted only if everything that finishing the stored tasks writes fits beside it:
//! memtables that are to be flushed, the copy that a compaction makes, and the journal records and
//! tombstones of each stored task.

const MIB: u64 = 1 << 20;

/// Journal record, memtable entries and their share of a compaction, for one ack, retry or dead
/// letter of a task with long names.
const PER_TASK: u64 = 2 << 10;

/// A new task is written to the journal, to a table, and to the table of a compaction.
pub(super) const COPIES: u64 = 3;

/// The most that the changes of stored tasks take, however many there are: journals are deleted
/// once they are flushed, and compactions drop what has been finished.
const FINISHING_MAX: u64 = 512 * MIB;

/// The most that one compaction copies: a first level of 256 MiB and the tables above it.
const COMPACTION_MAX: u64 = 384 * MIB;

/// Manifests, directories, the head of a new journal.
const SLACK: u64 = MIB;

/// The changes of one batch.
const BATCH: u64 = 8 * MIB;

/// The new tasks of one batch, at most an eighth of a small disk's room.
const NEW_TASKS: u64 = 32 * MIB;

/// Sizes of the reserve are multiples of this.
const STEP: u64 = MIB;

/// The most that the reserve grows by at a time, so that a batch does not wait long for it.
const GROWTH_MAX: u64 = 64 * MIB;

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

    /// Room for `bytes` bytes of new tasks, as [`cost`](Self::cost) counts them.
    #[cfg(test)]
    pub(crate) const fn for_new_tasks(bytes: u64) -> Self {
        Self {
            new_tasks: bytes,
            exhausted: false,
        }
    }

    /// No room for anything, not even an ack.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            new_tasks: 0,
            exhausted: true,
        }
    }

    /// Bytes for new tasks.
    #[must_use]
    pub const fn new_tasks(self) -> u64 {
        self.new_tasks
    }

    /// Whether there is no room for changes of stored tasks either.
    #[must_use]
    pub const fn is_exhausted(self) -> bool {
        self.exhausted
    }

    /// The same room with at most `new_tasks` bytes for new tasks.
    #[must_use]
    pub(super) fn with_at_most(self, new_tasks: u64) -> Self {
        Self {
            new_tasks: self.new_tasks.min(new_tasks),
            ..self
        }
    }

    /// What a new task takes, until it is finished: its journal record, its table, the copy of that
    /// in a compaction, and the room to finish it.
    #[must_use]
    pub const fn cost(payload: usize, names: usize) -> u64 {
        COPIES * (payload as u64 + 3 * names as u64 + 400) + PER_TASK
    }
}

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::store) struct Usage {
    /// Bytes in memtables, which are to be written to tables.
    pub(in crate::store) unflushed: u64,
    /// Bytes in tables.
    pub(in crate::store) tables: u64,
    /// Bytes of the largest space, memtables included.
    pub(in crate::store) largest: u64,
    /// Tasks, in whatever state.
    pub(in crate::store) tasks: u64,
}

impl Usage {
    /// What the changes of one batch take in the journal.
    pub(super) fn changes(self) -> u64 {
        (self.tasks.saturating_mul(PER_TASK) / 2).min(BATCH) + SLACK / 8
    }
}

/// What a store is going to write even if no task is added.
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

    /// What the next batch may set off.
    fn at_once(self) -> u64 {
        self.flushes + self.compaction + self.finishing.min(BATCH)
    }

    fn all(self) -> u64 {
        self.flushes + self.compaction + self.finishing
    }
}

/// A decision about the reserve, and the room that there is then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// The size that the reserve is to have.
    pub(super) reserve: u64,
    pub(super) room: Room,
}

impl Plan {
    /// Decides for a disk with `free` bytes besides a reserve of `reserve` bytes, which may have up
    /// to `most`.
    ///
    /// The reserve shrinks by what the next batch may need and the disk does not have. It grows out
    /// of what no batch needs soon, up to all that the stored tasks need.
    pub(super) fn of(free: u64, reserve: u64, most: u64, usage: Usage) -> Self {
        let demand = Demand::of(usage);
        let all = free.saturating_add(reserve);
        let new_tasks = all.saturating_sub(demand.all());
        let batch = NEW_TASKS.min(all / 8);

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
    fn new_tasks_get_what_the_stored_ones_leave() {
        let plan = Plan::of(100 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.room.new_tasks(), (100 - 8 - 20 - 10 - 1) * MIB);
        assert!(!plan.room.is_exhausted());
        let plan = Plan::of(30 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.room.new_tasks(), 0);
        assert!(!plan.room.is_exhausted());
    }

    #[test]
    fn the_reserve_counts_as_room_and_gives_it_batch_by_batch() {
        let usage = usage(8, 20, 10 * 512);
        let plan = Plan::of(8 * MIB, 92 * MIB, GIB, usage);
        // The next batch needs 8 + 1 + 20 + 8, and may have new tasks in an eighth of the room.
        assert_eq!(plan.reserve, 50 * MIB);
        assert_eq!(plan.room.new_tasks(), 13 * MIB);
    }

    #[test]
    fn new_tasks_get_no_more_than_is_free_beside_the_reserve() {
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
    fn millions_of_tasks_need_no_more_than_about_a_gibibyte() {
        let plan = Plan::of(2 * GIB, 0, 0, usage(60, 20_000, 1_000_000_000));
        assert_eq!(plan.room.new_tasks(), 2 * GIB - (60 + 1 + 384 + 512) * MIB);
    }

    #[test]
    fn the_reserve_gives_what_the_next_batch_lacks() {
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
    fn the_reserve_grows_to_all_that_is_needed() {
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
    fn what_the_reserve_gave_it_does_not_take_back_at_once() {
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
    fn the_reserve_shrinks_when_the_tasks_are_gone() {
        let plan = Plan::of(GIB, 500 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 3 * MIB);
        let plan = Plan::of(GIB, 10 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 10 * MIB);
        let plan = Plan::of(GIB, 10 * MIB, 0, usage(1, 1, 0));
        assert_eq!(plan.reserve, 0);
    }

    #[test]
    fn without_room_for_the_next_flush_there_is_none_at_all() {
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
