//! A cluster in one thread: production shards and leases, on clocks that drift, disks that lose
//! what is not synced, and a network that delays, repeats and loses. Everything follows from a
//! seed.

mod checks;
mod clients;
mod consumers;
mod disks;
mod events;
mod failures;
mod faults;
mod links;
mod name;
mod network;
mod node;
mod parts;
mod planted;
mod reads;
mod snapshots;
mod takeovers;
mod world;

use std::ops::Range;

pub(super) use planted::{Planted, is_planted};
use world::World;

/// Histories in an ordinary run of the tests.
const SEEDS: u64 = 2_000;

/// Histories without faults.
const PLANNED_SEEDS: u64 = 300;

fn history(seed: u64, planted: Planted) -> Result<(), String> {
    World::new(seed, planted, Faults::All).run().map(|_| ())
}

/// What goes wrong in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    /// Everything.
    All,
    /// Nodes hand over what they lead, end, and are started again. Links break and are there again
    /// soon. Links and sockets can be slow.
    Harmless,
}

/// Names the seed of a history that panics.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("CLUSTER_SEED={}", self.0);
        }
    }
}

#[test]
fn no_history_breaks_a_promise() {
    for seed in range(SEEDS) {
        let _panics = Told(seed);
        if let Err(broken) = history(seed, Planted::Nothing) {
            panic!("CLUSTER_SEED={seed}: {broken}");
        }
    }
}

#[test]
fn planned_ends_and_broken_links_deliver_nothing_twice() {
    let seeds = range(PLANNED_SEEDS);
    let number = seeds.end - seeds.start;
    let mut handed_over = 0;
    for seed in seeds {
        let _panics = Told(seed);
        match World::new(seed, Planted::Nothing, Faults::Harmless).run() {
            Ok(copies) => handed_over += copies,
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
    }
    // Otherwise the histories say nothing.
    assert!(
        handed_over > number / 2,
        "{handed_over} copies were handed over"
    );
}

/// Histories with reads in an ordinary run of the tests.
const READ_SEEDS: u64 = 200;

#[test]
fn reads_see_what_was_acknowledged_before() {
    let seeds = range(READ_SEEDS);
    let number = seeds.end - seeds.start;
    let mut done = 0;
    for seed in seeds {
        let _panics = Told(seed);
        let world = World::new(seed, Planted::Nothing, Faults::All).with_reads(seed);
        match world.run_with_reads() {
            Ok(reads) => done += reads,
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
    }
    assert!(done > 10 * number, "{done} reads");
}

#[test]
fn reads_that_do_not_wait_for_the_replica_are_noticed() {
    let history = |seed| {
        let world = World::new(seed, Planted::ReadsAtOnce, Faults::All);
        world.with_reads(seed).run_with_reads().err()
    };
    let noticed = (0..100).find_map(history);
    println!("ReadsAtOnce: {}", noticed.expect("it is noticed"));
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("it is a number"))
}

/// Returns the seeds of the histories that are run: `CLUSTER_SEED` alone, or as many as
/// `CLUSTER_SEEDS` or `default` says from `CLUSTER_FROM` on.
fn range(default: u64) -> Range<u64> {
    match number("CLUSTER_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let from = number("CLUSTER_FROM").unwrap_or(0);
            from..from + number("CLUSTER_SEEDS").unwrap_or(default)
        }
    }
}

/// Looks for a history that breaks a promise because of a fault, and only because of it. The first
/// one from the seed `from` on is known; others may break it when the histories change. `CLUSTER_FROM`
/// replaces `from`, to look for the first one anew.
fn is_noticed(planted: Planted, faults: Faults, from: u64) {
    let history = |seed| {
        let broken = World::new(seed, planted, faults).run().err()?;
        let without = World::new(seed, Planted::Nothing, faults).run();
        without.is_ok().then_some(broken)
    };
    let from = number("CLUSTER_FROM").unwrap_or(from);
    let mut seeds = from..from + 5_000;
    let noticed = seeds.find_map(|seed| history(seed).map(|broken| (seed, broken)));
    let (seed, broken) = noticed.unwrap_or_else(|| panic!("{planted:?} was not noticed"));
    println!("{planted:?} is noticed with seed {seed}: {broken}");
}

#[test]
fn a_log_without_fences_is_noticed() {
    is_noticed(Planted::NoFence, Faults::All, 393);
}

#[test]
fn a_socket_without_a_look_at_the_lease_is_noticed() {
    is_noticed(Planted::NoLeaseAtTheSocket, Faults::All, 42);
}

#[test]
fn a_takeover_that_does_not_compare_the_heartbeat_is_noticed() {
    is_noticed(Planted::IgnoresHeartbeats, Faults::All, 38);
}

#[test]
fn a_takeover_that_does_not_wait_for_a_whole_lease_is_noticed() {
    is_noticed(Planted::ShortWait, Faults::All, 4);
}

#[test]
fn a_start_from_what_was_not_synced_is_noticed() {
    is_noticed(Planted::StartsFromApplied, Faults::All, 0);
}

#[test]
fn reports_of_what_is_not_synced_are_noticed() {
    is_noticed(Planted::ReportsApplied, Faults::All, 0);
}

#[test]
fn a_lease_without_a_margin_is_noticed() {
    is_noticed(Planted::NoMargin, Faults::All, 125);
}

#[test]
fn a_lease_that_counts_from_the_answer_is_noticed() {
    is_noticed(Planted::CountsFromReceipt, Faults::All, 42);
}

#[test]
fn a_note_of_what_is_synced_before_it_is_synced_is_noticed() {
    is_noticed(Planted::NotesBeforeSync, Faults::All, 5);
}

#[test]
fn a_journal_without_its_last_entry_is_noticed() {
    is_noticed(Planted::TrimsTheLast, Faults::All, 0);
}

#[test]
fn an_append_without_an_answer_that_counts_as_failed_is_noticed() {
    is_noticed(Planted::UnansweredIsFailed, Faults::All, 0);
}

#[test]
fn a_ledger_that_outlives_its_leadership_is_noticed() {
    is_noticed(Planted::KeepsTheLedger, Faults::All, 18);
}

#[test]
fn an_outbox_that_outlives_its_session_is_noticed() {
    is_noticed(Planted::KeepsTheOutbox, Faults::Harmless, 0);
}

#[test]
fn entries_that_are_applied_in_any_order_are_noticed() {
    is_noticed(Planted::AppliesInAnyOrder, Faults::All, 0);
}

#[test]
fn acks_of_earlier_leaderships_that_are_dropped_are_noticed() {
    is_noticed(Planted::DropsOlderAcks, Faults::All, 14);
}

#[test]
fn a_planned_end_that_passes_nothing_on_is_noticed() {
    is_noticed(Planted::PassesNothingOn, Faults::Harmless, 311);
}

#[test]
fn a_node_that_ends_without_saying_so_is_noticed() {
    is_noticed(Planted::EndsInSilence, Faults::Harmless, 0);
}

#[test]
fn a_broken_link_that_fails_deliveries_is_noticed() {
    is_noticed(Planted::ClosesDetached, Faults::Harmless, 0);
}

#[test]
fn trimming_what_a_majority_lacks_is_noticed() {
    is_noticed(Planted::TrimsPastMajority, Faults::All, 0);
}

#[test]
fn a_wiped_node_that_keeps_its_report_is_noticed() {
    is_noticed(Planted::KeepsReports, Faults::All, 0);
}

#[test]
fn a_snapshot_without_applied_is_noticed() {
    is_noticed(Planted::SnapshotWithoutApplied, Faults::All, 0);
}
