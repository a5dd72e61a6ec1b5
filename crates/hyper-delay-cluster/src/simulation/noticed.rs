//! Faults that are planted in the server must break a promise in some history.

use super::{FaultSet, PlantedFault, World, number};

/// Asserts that a fault breaks a promise in the history of `seed`, and that nothing else does.
///
/// Changes of the server or the simulation change the histories, and then `seed` may no longer do.
/// `CLUSTER_SEARCH` is how many seeds from it on are tried. `CLUSTER_FROM` replaces it.
fn is_noticed(planted: PlantedFault, faults: FaultSet, seed: u64) {
    find(planted, seed, |planted, seed| {
        World::new(seed, planted, faults).run().err()
    });
}

/// The same for any `history` of a fault and a seed, which returns the promise that is broken.
fn find(planted: PlantedFault, seed: u64, history: impl Fn(PlantedFault, u64) -> Option<String>) {
    let from = number("CLUSTER_FROM").unwrap_or(seed);
    let mut seeds = from..from + number("CLUSTER_SEARCH").unwrap_or(1);
    let noticed = seeds.find_map(|seed| {
        let broken = history(planted, seed)?;
        history(PlantedFault::Nothing, seed)
            .is_none()
            .then_some((seed, broken))
    });
    let thread = std::thread::current();
    // The only thread of a run of tests has no name of a test.
    let test = thread.name().filter(|name| *name != "main");
    let test = test.unwrap_or("simulation::noticed");
    let (seed, broken) = noticed.unwrap_or_else(|| {
        panic!(
            "{planted:?} breaks nothing with seed {from}: the histories have changed. Find another \
             seed: CLUSTER_SEARCH=5000 cargo test --release -p hyper-delay-cluster --lib {test} -- \
             --nocapture"
        )
    });
    println!("{planted:?} is noticed with seed {seed}: {broken}");
}

#[test]
fn reads_that_do_not_wait_for_the_replica_are_noticed() {
    find(PlantedFault::ReadsAtOnce, 0, |planted, seed| {
        let world = World::new(seed, planted, FaultSet::All).with_reads(seed);
        world.run_with_reads().err()
    });
}

#[test]
fn a_leader_for_which_every_nack_is_a_failure_is_noticed() {
    is_noticed(PlantedFault::IgnoresUnharmed, FaultSet::Harmless, 3);
}

#[test]
fn a_log_without_fences_is_noticed() {
    is_noticed(PlantedFault::NoFence, FaultSet::All, 271);
}

#[test]
fn a_socket_without_a_look_at_the_lease_is_noticed() {
    is_noticed(PlantedFault::NoLeaseAtTheSocket, FaultSet::All, 11);
}

#[test]
fn a_takeover_that_does_not_compare_the_heartbeat_is_noticed() {
    is_noticed(PlantedFault::IgnoresHeartbeats, FaultSet::All, 1175);
}

#[test]
fn a_takeover_that_does_not_wait_for_a_whole_lease_is_noticed() {
    is_noticed(PlantedFault::ShortWait, FaultSet::All, 3);
}

#[test]
fn a_start_from_what_was_not_synced_is_noticed() {
    is_noticed(PlantedFault::StartsFromApplied, FaultSet::All, 0);
}

#[test]
fn reports_of_what_is_not_synced_are_noticed() {
    is_noticed(PlantedFault::ReportsApplied, FaultSet::All, 0);
}

#[test]
fn a_lease_without_a_margin_is_noticed() {
    is_noticed(PlantedFault::NoMargin, FaultSet::All, 24);
}

#[test]
fn a_lease_that_counts_from_the_answer_is_noticed() {
    is_noticed(PlantedFault::CountsFromReceipt, FaultSet::All, 212);
}

#[test]
fn a_note_of_what_is_synced_before_it_is_synced_is_noticed() {
    is_noticed(PlantedFault::NotesBeforeSync, FaultSet::All, 40);
}

#[test]
fn a_journal_without_its_last_entry_is_noticed() {
    is_noticed(PlantedFault::TrimsTheLast, FaultSet::All, 0);
}

#[test]
fn an_append_without_an_answer_that_counts_as_failed_is_noticed() {
    is_noticed(PlantedFault::UnansweredIsFailed, FaultSet::All, 2);
}

#[test]
fn a_ledger_that_outlives_its_leadership_is_noticed() {
    is_noticed(PlantedFault::KeepsTheLedger, FaultSet::All, 0);
}

#[test]
fn an_outbox_that_outlives_its_session_is_noticed() {
    is_noticed(PlantedFault::KeepsTheOutbox, FaultSet::Harmless, 1);
}

#[test]
fn entries_that_are_applied_in_any_order_are_noticed() {
    is_noticed(PlantedFault::AppliesInAnyOrder, FaultSet::All, 0);
}

#[test]
fn acks_of_earlier_leaderships_that_are_dropped_are_noticed() {
    is_noticed(PlantedFault::DropsOlderAcks, FaultSet::All, 29);
}

#[test]
fn a_planned_end_that_passes_nothing_on_is_noticed() {
    is_noticed(PlantedFault::PassesNothingOn, FaultSet::Harmless, 2362);
}

#[test]
fn a_node_that_ends_without_saying_so_is_noticed() {
    is_noticed(PlantedFault::EndsInSilence, FaultSet::Harmless, 6);
}

#[test]
fn a_broken_link_that_fails_deliveries_is_noticed() {
    is_noticed(PlantedFault::ClosesDetached, FaultSet::Harmless, 48);
}

#[test]
fn trimming_what_a_majority_lacks_is_noticed() {
    is_noticed(PlantedFault::TrimsPastMajority, FaultSet::All, 0);
}

#[test]
fn a_wiped_node_that_keeps_its_report_is_noticed() {
    is_noticed(PlantedFault::KeepsReports, FaultSet::All, 0);
}

#[test]
fn a_snapshot_without_applied_is_noticed() {
    is_noticed(PlantedFault::SnapshotWithoutApplied, FaultSet::All, 0);
}
