//! A cluster in one thread: production shards and leases, on clocks that drift, disks that lose
//! what is not synced, and a network that delays, repeats and loses. Everything follows from a
//! seed.

mod checks;
mod client_requests;
mod clients;
mod consumers;
mod disks;
mod events;
mod failures;
mod faults;
mod histories;
mod links;
mod moves;
mod network;
mod node;
mod noticed;
mod operators;
mod own_routes;
mod planted_faults;
mod process_parts;
mod reads;
mod retrying;
mod simulated_client;
mod snapshots;
mod takeovers;
mod task_name;
mod versions;
mod world;

use planted_faults::PlantedFault;
use world::World;

/// The faults of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultSet {
    /// Everything.
    All,
    /// Nodes hand over what they lead, end, and are started again. Links break and are there again
    /// soon. Links and sockets can be slow.
    Harmless,
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("it is a number"))
}
