//! Histories that break no promise. Each test is divided into parts, which run at the same time.

use std::ops::Range;

use super::{FaultSet, PlantedFault, World, number};
use hyper_delay_engine::sizes::{Size, counts};

/// Histories with all faults in an ordinary run of the tests.
const SEEDS: u64 = 160;

/// Histories without faults.
const PLANNED_SEEDS: u64 = 40;

/// Histories with reads.
const READ_SEEDS: u64 = 40;

const PARTS: usize = 4;

/// Makes a module with a test for each part.
macro_rules! in_parts {
    ($name:ident, $run:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn part_1() {
                $run(0);
            }

            #[test]
            fn part_2() {
                $run(1);
            }

            #[test]
            fn part_3() {
                $run(2);
            }

            #[test]
            fn part_4() {
                $run(3);
            }
        }
    };
}

in_parts!(no_history_breaks_a_promise, with_all_faults);
in_parts!(planned_ends_and_broken_links_deliver_nothing_twice, planned);
in_parts!(reads_see_what_was_acknowledged_before, with_reads);

/// As many histories reach each of [`REACHED`].
const ENOUGH: u64 = SEEDS / PARTS as u64;

/// The sizes of the engine that histories reach. No store of a cluster is mended after a loss.
const REACHED: [Size; 7] = [
    Size::PausedRoutes,
    Size::EndedJobs,
    Size::BulkTasks,
    Size::RetentionKeys,
    Size::TokenSums,
    Size::RecentValues,
    Size::ForecastRows,
];

fn with_all_faults(part: usize) {
    counts::begin();
    let (mut number, mut moved, mut moved_together) = (0, 0, 0);
    for seed in seeds(SEEDS, part) {
        let _panics = SeedOnPanic(seed);
        match World::new(seed, PlantedFault::Nothing, FaultSet::All).run() {
            Ok(played) => {
                moved += played.moved;
                moved_together += played.moved_together;
            }
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
        number += 1;
    }
    if number >= ENOUGH {
        assert!(
            moved > number,
            "{moved} tasks were moved in {number} histories"
        );
        assert!(
            moved_together > number,
            "operators moved {moved_together} tasks in {number} histories"
        );
        counts::assert_reached(&REACHED, 3);
    }
}

fn planned(part: usize) {
    let (mut number, mut handed_over) = (0, 0);
    for seed in seeds(PLANNED_SEEDS, part) {
        let _panics = SeedOnPanic(seed);
        match World::new(seed, PlantedFault::Nothing, FaultSet::Harmless).run() {
            Ok(played) => handed_over += played.handed_over,
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
        number += 1;
    }
    // Otherwise the histories prove nothing. One that is repeated alone may.
    assert!(
        number < 2 || 2 * handed_over >= number,
        "{handed_over} copies were handed over in {number} histories"
    );
}

fn with_reads(part: usize) {
    let (mut number, mut done, mut retrying) = (0, 0, 0);
    for seed in seeds(READ_SEEDS, part) {
        let _panics = SeedOnPanic(seed);
        let world = World::new(seed, PlantedFault::Nothing, FaultSet::All).with_reads(seed);
        match world.run_with_reads() {
            Ok(reads) => {
                done += reads.done;
                retrying += reads.retrying;
            }
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
        number += 1;
    }
    assert!(
        number < 2 || done >= 10 * number,
        "{done} reads in {number} histories"
    );
    assert!(
        number < READ_SEEDS / PARTS as u64 || retrying > 0,
        "no task was retrying in {number} histories"
    );
}

/// Returns the seeds of a part: `CLUSTER_SEED` alone, or every fourth one of as many as
/// `CLUSTER_SEEDS` or `default` says from `CLUSTER_FROM` on.
fn seeds(default: u64, part: usize) -> impl Iterator<Item = u64> {
    range(default).skip(part).step_by(PARTS)
}

fn range(default: u64) -> Range<u64> {
    match number("CLUSTER_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let from = number("CLUSTER_FROM").unwrap_or(0);
            from..from + number("CLUSTER_SEEDS").unwrap_or(default)
        }
    }
}

/// Names the seed of a history that panics.
struct SeedOnPanic(u64);

impl Drop for SeedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("CLUSTER_SEED={}", self.0);
        }
    }
}
