//! The scheduler over the ledger and a disk that loses its power, on a clock that stands still.

mod asking;
mod cancel;
mod client;
mod clock;
mod committer;
mod delivered;
mod departures;
mod edge;
mod ending;
mod expiry;
mod hedging;
mod invariants;
mod jobs;
mod lending;
mod memory;
mod nodes;
mod operating;
mod outcomes;
mod quotas;
mod random;
mod reload;
mod retention;
mod rounds;
mod schedule_rates;
mod selection;
mod sockets;
mod stalls;
mod take_over;
mod terms;
mod touch;
mod unharmed;
mod world;

use world::{Step, World};
