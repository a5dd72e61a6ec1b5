//! Reads the store of a stopped server, damaged or not, without opening or changing it.
//!
//! The store keeps each task three times: its content in `tasks`, its state in `names` and its
//! entry in `waiting`, `parked` or `dead`. The readers skip damaged blocks and batches; `Join`
//! collects the readable parts of each task by sequence number.
//!
//! ```text
//! journal ──┐
//! table ────┼──▶ merge: newest row of each key ──▶ join: claims and content of each task
//! version ──┘                                            │
//!                                       verify, repair, export
//! ```

mod error;
mod faults;

mod block;
mod table;
mod tables;

mod journals;
mod merge;
mod row;
mod runs;
mod spaces;
mod stopped;

mod claim;
mod join;
mod meta;
mod missing;
mod task;

mod export;
mod repair;
mod verify;
mod writer;

pub use error::SalvageError;
pub use export::export;
pub use repair::repair;
pub use verify::verify;

#[cfg(test)]
mod tests;
