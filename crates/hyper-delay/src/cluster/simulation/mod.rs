//! A cluster in one thread: production shards and leases, on clocks that drift, disks that lose
//! what is not synced, and a network that delays, repeats and loses. Everything follows from a
//! seed.

mod checks;
mod clients;
mod faults;
mod links;
mod network;
mod node;
mod parts;
mod world;

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

/// A fault in the cluster, planted to see that the checks notice it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Planted {
    #[default]
    Nothing,
    /// The log takes entries of every leader.
    NoFence,
    /// A delivery is written without a look at the lease.
    NoLeaseAtTheSocket,
    /// A leadership is taken over, whether its node is still silent or not.
    IgnoresHeartbeats,
    /// A leadership is taken over after half of a lease.
    ShortWait,
    /// A node starts from what was applied, synced or not.
    StartsFromApplied,
    /// Entries are removed up to what is applied on all nodes, synced or not.
    ReportsApplied,
}

#[test]
fn no_history_breaks_a_promise() {
    let from = std::env::var("CLUSTER_SEED").map(|seed| seed.parse().expect("a number"));
    let (from, seeds) = match from {
        Ok(seed) => (seed, 1),
        Err(_) => (0, seeds(SEEDS)),
    };
    for seed in from..from + seeds {
        if let Err(broken) = history(seed, Planted::Nothing) {
            panic!("CLUSTER_SEED={seed}: {broken}");
        }
    }
}

#[test]
fn planned_ends_and_broken_links_deliver_nothing_twice() {
    let from = std::env::var("CLUSTER_SEED").map(|seed| seed.parse().expect("a number"));
    let (from, seeds) = match from {
        Ok(seed) => (seed, 1),
        Err(_) => (0, seeds(PLANNED_SEEDS)),
    };
    let mut handed_over = 0;
    for seed in from..from + seeds {
        match World::new(seed, Planted::Nothing, Faults::Harmless).run() {
            Ok(copies) => handed_over += copies,
            Err(broken) => panic!("CLUSTER_SEED={seed}: {broken}"),
        }
    }
    // Otherwise the histories say nothing.
    assert!(
        handed_over > seeds / 2,
        "{handed_over} copies were handed over"
    );
}

/// Returns how many histories are run: as many as `CLUSTER_SEEDS` says, or `default`.
fn seeds(default: u64) -> u64 {
    let seeds = std::env::var("CLUSTER_SEEDS");
    seeds.map_or(default, |seeds| seeds.parse().expect("a number"))
}

fn is_noticed(planted: Planted) {
    let noticed = (0..5_000).find_map(|seed| history(seed, planted).err().map(|it| (seed, it)));
    let (seed, broken) = noticed.unwrap_or_else(|| panic!("{planted:?} was not noticed"));
    println!("{planted:?} is noticed with seed {seed}: {broken}");
}

#[test]
fn a_log_without_fences_is_noticed() {
    is_noticed(Planted::NoFence);
}

#[test]
fn a_socket_without_a_look_at_the_lease_is_noticed() {
    is_noticed(Planted::NoLeaseAtTheSocket);
}

#[test]
fn a_takeover_that_does_not_compare_the_heartbeat_is_noticed() {
    is_noticed(Planted::IgnoresHeartbeats);
}

#[test]
fn a_takeover_that_does_not_wait_for_a_whole_lease_is_noticed() {
    is_noticed(Planted::ShortWait);
}

#[test]
fn a_start_from_what_was_not_synced_is_noticed() {
    is_noticed(Planted::StartsFromApplied);
}

#[test]
fn reports_of_what_is_not_synced_are_noticed() {
    is_noticed(Planted::ReportsApplied);
}
