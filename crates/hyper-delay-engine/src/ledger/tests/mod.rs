//! The ledger on a disk that can lose its power.

mod bulk_moves;
mod dedupe;
mod delay;
mod invariants;
mod mend;
mod mend_random;
mod mend_terms;
mod model;
mod newer_version;
mod operator_changes;
mod pending_quota;
mod power_loss;
mod random;
mod retrying;
mod retrying_list;
mod world;
