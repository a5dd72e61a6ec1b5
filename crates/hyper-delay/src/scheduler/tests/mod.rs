//! The scheduler over the ledger and a disk that loses its power, on a clock that stands still.

mod cancel;
mod clock;
mod departures;
mod edge;
mod ending;
mod hedging;
mod invariants;
mod memory;
mod random;
mod reload;
mod rounds;
mod selection;
mod world;

use world::{Step, World};
