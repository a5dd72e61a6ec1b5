//! The ledger over a disk that loses its power.

mod audit;
mod cuts;
mod model;
mod random;
mod world;
