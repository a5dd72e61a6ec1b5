//! Load on a running server, for `hyper-delay bench` and `cargo bench --bench store`.
//!
//! The load writes and reads the protocol as bytes, with many lines per write and almost no
//! allocation per task: server and load often share a machine, so the load must leave the
//! processors to the server. Run it on a current-thread tokio runtime.
//!
//! This module is not part of the server. Its API changes whenever the measurements change.

mod cpu;
mod error;
mod figures;
mod plan;
mod tally;
mod time;

mod reply;
mod request;
mod task_ids;
mod wire;

mod authenticate;

mod consumer;
mod deliver;
mod lateness;
mod schedule;

mod run;

pub use cpu::Cpu;
pub use error::LoadError;
pub use figures::{Figures, Quantiles};
pub use plan::{LoadMode, LoadPlan};
pub use run::run;
pub use tally::LoadTally;
pub use wire::Wire;
