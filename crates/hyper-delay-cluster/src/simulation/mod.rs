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
mod histories;
mod links;
mod name;
mod network;
mod node;
mod noticed;
mod operators;
mod parts;
mod planted;
mod reads;
mod snapshots;
mod takeovers;
mod world;

use planted::Planted;
use world::World;

/// What goes wrong in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
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
