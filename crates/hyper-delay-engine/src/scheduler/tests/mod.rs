//! The scheduler over the ledger and a disk that loses its power, on a clock that stands still.

mod bulk_jobs;
mod cancel;
mod client;
mod clock;
mod cluster_nodes;
mod committer;
mod declined_rounds;
mod delivered;
mod departures;
mod expiry;
mod hedging;
mod horizon;
mod invariants;
mod last_failure;
mod lent_credit;
mod memory;
mod moves;
mod operator_requests;
mod outcomes;
mod random;
mod rate_limits;
mod reload;
mod requests;
mod retention;
mod rounds;
mod schedule_rate;
mod selection;
mod shutdown;
mod sockets;
mod stall_detector;
pub(super) mod stored_tasks;
mod takeover;
mod terms;
mod touch;
mod world;

use world::{Step, World};
