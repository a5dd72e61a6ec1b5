//! The ledger on a disk that can lose its power.

mod audit;
mod dedupe;
mod mend;
mod mend_random;
mod mend_terms;
mod model;
mod newer;
mod operating;
mod power_loss;
mod random;
mod refusing;
mod world;
