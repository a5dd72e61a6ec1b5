//! The scheduler over the ledger and a disk that loses its power, on a clock that stands still until told.

mod clock;
mod edge;
mod memory;
mod random;
mod rounds;
mod world;

use world::{Step, World};
