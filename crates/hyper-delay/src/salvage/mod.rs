//! Reads the store of a stopped server, damaged or not, without opening it and without writing to
//! it.
//!
//! The store keeps each task three times: its content in `tasks`, its state in `names` and its
//! entry in `waiting`, `parked` or `dead`. The readers skip what is damaged, block by block and
//! batch by batch; `Join` collects by sequence number what is left of each task.
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
mod trailer;
mod version;

mod journals;
mod merge;
mod row;
mod spaces;
mod stopped;

mod claim;
mod join;
mod meta;
mod task;

mod export;
mod repair;
mod verify;
mod writer;

pub use error::SalvageError;
pub use export::{Exported, export};
pub use repair::{Repaired, repair};
pub use task::Lost;
pub use verify::{Verified, verify};

#[cfg(test)]
mod tests;
