//! Load for a running server: what `hyper-delay bench` and `cargo bench --bench store` are made of.
//!
//! It speaks the protocol in bytes, many lines to a write, with next to nothing allocated for a task, since server
//! and load often share a machine and what the load takes the server has not. One thread is meant to
//! drive it: a tokio runtime of the current thread.
//!
//! No part of the server, and no promise: it changes as the measurements do.

mod cpu;
mod error;
mod figures;
mod plan;
mod tally;
mod time;

mod ids;
mod reply;
mod request;
mod wire;

mod deliver;
mod late;
mod schedule;
mod taker;

mod run;

pub use cpu::Cpu;
pub use error::LoadError;
pub use figures::{Figures, Quantiles};
pub use plan::{Mode, Plan};
pub use run::run;
pub use tally::Tally;
pub use wire::Wire;
