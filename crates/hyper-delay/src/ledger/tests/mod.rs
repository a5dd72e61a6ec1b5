//! The ledger on a disk that can lose its power.

mod audit;
mod model;
mod power_loss;
mod random;
mod world;
