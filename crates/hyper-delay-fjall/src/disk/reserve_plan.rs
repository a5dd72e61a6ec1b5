//! Computes how much of a disk new tasks may take.
//!
//! A full disk must still take the acks, retries and dead letters of its tasks. So new tasks are
//! admitted only while the disk also has space for finishing the stored ones: for flushing the
//! memtables, for the copy that a compaction makes, and for the journal records and tombstones of
//! each stored task.

use hyper_delay_store::{DiskSpace, FINISHING_BYTES_PER_TASK};

const MIB: u64 = 1 << 20;

/// Maximum number of bytes for finishing stored tasks, for any number of tasks: journals are
/// deleted once they are flushed, and compactions drop finished tasks.
const FINISHING_MAX: u64 = 512 * MIB;

/// Maximum number of bytes that a compaction copies: a first level of 256 MiB and the tables above.
const COMPACTION_MAX: u64 = 384 * MIB;

/// Bytes for manifests, directories and the start of a new journal.
const SLACK: u64 = MIB;

/// Maximum number of bytes for the changes of one batch to stored tasks.
const BATCH: u64 = 8 * MIB;

/// Bytes for the new tasks of one batch. An eighth of the space on a small disk, if that is less.
const NEW_TASKS_PER_BATCH: u64 = 32 * MIB;

/// The size of the reserve is a multiple of this many bytes.
pub(super) const STEP: u64 = MIB;

/// Maximum number of bytes by which the reserve grows at a time. It bounds the wait of a batch.
const GROWTH_MAX: u64 = 64 * MIB;

/// The contents of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoreUsage {
    /// Bytes in memtables, which will be written to tables.
    pub(crate) unflushed: u64,
    /// Bytes in tables.
    pub(crate) tables: u64,
    /// Bytes of the largest space, including its memtables.
    pub(crate) largest: u64,
    /// Number of tasks in any state.
    pub(crate) tasks: u64,
}

impl StoreUsage {
    /// Returns the number of journal bytes that one batch may need for changes of stored tasks.
    pub(super) fn change_bytes(self) -> u64 {
        (self.tasks.saturating_mul(FINISHING_BYTES_PER_TASK) / 2).min(BATCH) + SLACK / 8
    }
}

/// The bytes that a store will write even if no task is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WriteDemand {
    flushes: u64,
    compaction: u64,
    finishing: u64,
}

impl WriteDemand {
    fn of(usage: StoreUsage) -> Self {
        Self {
            flushes: usage.unflushed + SLACK,
            compaction: usage.largest.min(COMPACTION_MAX),
            finishing: usage
                .tasks
                .saturating_mul(FINISHING_BYTES_PER_TASK)
                .min(FINISHING_MAX),
        }
    }

    /// Returns the bytes that the next batch may cause to be written.
    fn next_batch(self) -> u64 {
        self.flushes + self.compaction + self.finishing.min(BATCH)
    }

    fn total(self) -> u64 {
        self.flushes + self.compaction + self.finishing
    }
}

/// The next size of the reserve and the disk space for the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReservePlan {
    /// The next size of the reserve in bytes.
    pub(super) reserve: u64,
    /// The disk space for the next batch.
    pub(super) disk_space: DiskSpace,
}

impl ReservePlan {
    /// Plans for a disk with `free` free bytes and a reserve of `reserve` bytes, at most `most`.
    ///
    /// The reserve shrinks by the bytes that the next batch may need and that are not free. It
    /// grows into free bytes that the next batches do not need, up to the demand of the stored
    /// tasks.
    pub(super) fn of(free: u64, reserve: u64, most: u64, usage: StoreUsage) -> Self {
        let demand = WriteDemand::of(usage);
        let all = free.saturating_add(reserve);
        let new_tasks = all.saturating_sub(demand.total());
        let batch = NEW_TASKS_PER_BATCH.min(all / 8);

        let most = most / STEP * STEP;
        let target = demand.total().next_multiple_of(STEP).min(most);
        let missing = (demand.next_batch() + new_tasks.min(batch)).saturating_sub(free);
        let spare = free.saturating_sub(demand.next_batch() + 2 * batch);
        let size = if missing > 0 {
            reserve.saturating_sub(missing.next_multiple_of(STEP))
        } else if reserve < target {
            let growth = (target - reserve).min(spare / 2).min(GROWTH_MAX);
            reserve + growth / STEP * STEP
        } else if reserve / 2 > target + BATCH || reserve > most {
            target
        } else {
            reserve
        };
        let free = all - size;
        Self {
            reserve: size,
            disk_space: DiskSpace::new(
                new_tasks.min(free.saturating_sub(demand.next_batch())),
                all < demand.flushes,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn usage(unflushed: u64, largest: u64, tasks: u64) -> StoreUsage {
        StoreUsage {
            unflushed: unflushed * MIB,
            largest: largest * MIB,
            tables: 0,
            tasks,
        }
    }

    #[test]
    fn new_tasks_get_the_space_that_stored_ones_do_not_need() {
        let plan = ReservePlan::of(100 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.disk_space.new_tasks(), (100 - 8 - 20 - 10 - 1) * MIB);
        assert!(!plan.disk_space.is_exhausted());
        let plan = ReservePlan::of(30 * MIB, 0, 0, usage(8, 20, 10 * 512));
        assert_eq!(plan.disk_space.new_tasks(), 0);
        assert!(!plan.disk_space.is_exhausted());
    }

    #[test]
    fn the_reserve_counts_as_free_space_and_shrinks_batch_by_batch() {
        let usage = usage(8, 20, 10 * 512);
        let plan = ReservePlan::of(8 * MIB, 92 * MIB, GIB, usage);
        // The next batch needs 8 + 1 + 20 + 8, and an eighth of the space for new tasks.
        assert_eq!(plan.reserve, 50 * MIB);
        assert_eq!(plan.disk_space.new_tasks(), 13 * MIB);
    }

    #[test]
    fn new_tasks_get_at_most_the_free_bytes() {
        let usage = usage(3, 9, 700);
        for (free, reserve) in (0..200).flat_map(|free| (0..200).map(move |size| (free, size))) {
            let plan = ReservePlan::of(free * MIB, reserve * MIB, GIB, usage);
            let free = (free + reserve) * MIB - plan.reserve;
            assert!(plan.disk_space.new_tasks() <= free, "{plan:?}");
            assert!(
                plan.reserve == 0 || free >= WriteDemand::of(usage).next_batch(),
                "{plan:?}"
            );
        }
    }

    #[test]
    fn the_demand_of_any_number_of_tasks_is_below_a_gibibyte() {
        let plan = ReservePlan::of(2 * GIB, 0, 0, usage(60, 20_000, 1_000_000_000));
        assert_eq!(
            plan.disk_space.new_tasks(),
            2 * GIB - (60 + 1 + 384 + 512) * MIB
        );
    }

    #[test]
    fn the_reserve_shrinks_by_the_bytes_that_the_next_batch_lacks() {
        // The next batch needs 8 + 1 + 20 + 8.
        let usage = usage(8, 20, 50 * 512);
        let plan = ReservePlan::of(30 * MIB, 49 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 42 * MIB);
        let plan = ReservePlan::of(0, 20 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 0);
        let plan = ReservePlan::of(37 * MIB, 42 * MIB, 200 * MIB, usage);
        assert_eq!(plan.reserve, 42 * MIB);
    }

    #[test]
    fn the_reserve_grows_up_to_the_demand() {
        let usage = usage(8, 20, 50 * 512);
        let plan = ReservePlan::of(10 * GIB, 0, GIB, usage);
        assert_eq!(plan.reserve, 64 * MIB);
        let plan = ReservePlan::of(10 * GIB, plan.reserve, GIB, usage);
        assert_eq!(plan.reserve, (8 + 1 + 20 + 50) * MIB);
        let plan = ReservePlan::of(10 * GIB, plan.reserve, GIB, usage);
        assert_eq!(plan.reserve, 79 * MIB);
        assert_eq!(
            ReservePlan::of(10 * GIB, 0, 5 * MIB, usage).reserve,
            5 * MIB
        );
        assert_eq!(ReservePlan::of(10 * GIB, 0, 0, usage).reserve, 0);
    }

    #[test]
    fn a_shrunk_reserve_does_not_grow_again_at_once() {
        let usage = usage(8, 20, 50 * 512);
        for size in 0..200 {
            let given = ReservePlan::of(20 * MIB, size * MIB, GIB, usage).reserve;
            let free = (20 + size) * MIB - given;
            assert_eq!(
                ReservePlan::of(free, given, GIB, usage).reserve,
                given,
                "of {size}"
            );
        }
    }

    #[test]
    fn the_reserve_shrinks_when_no_tasks_are_stored() {
        let plan = ReservePlan::of(GIB, 500 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 3 * MIB);
        let plan = ReservePlan::of(GIB, 10 * MIB, GIB, usage(1, 1, 0));
        assert_eq!(plan.reserve, 10 * MIB);
        let plan = ReservePlan::of(GIB, 10 * MIB, 0, usage(1, 1, 0));
        assert_eq!(plan.reserve, 0);
    }

    #[test]
    fn space_is_exhausted_if_the_next_flush_does_not_fit() {
        assert!(
            ReservePlan::of(4 * MIB, 4 * MIB, GIB, usage(8, 8, 1))
                .disk_space
                .is_exhausted()
        );
        assert!(
            !ReservePlan::of(5 * MIB, 4 * MIB, GIB, usage(8, 8, 1))
                .disk_space
                .is_exhausted()
        );
    }
}
