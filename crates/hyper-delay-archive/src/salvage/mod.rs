//! Reads the store of a stopped server, damaged or not, without opening or changing it.
//!
//! The store keeps each task three times: its content in `tasks`, its state in `names` and its
//! entry in `waiting`, `parked` or `dead`. The readers skip damaged blocks and batches; `TaskJoin`
//! collects the readable parts of each task by sequence number.
//!
//! ```text
//! journal ──┐
//! table ────┼──▶ merge: newest row of each key ──▶ join: states and content of each task
//! version ──┘                                            │
//!                                       verify, repair, export
//! ```

mod error;
mod faults;

mod block;
mod table_list;
mod table_reader;

mod journal_rows;
mod merge;
mod row;
mod space_folders;
mod stopped_store;
mod trusted_batches;

mod meta_space;
mod missing_commits;
mod recovered_task;
mod task_join;
mod task_state_row;

mod export;
mod repair;
mod repair_writer;
mod verify;

pub use error::SalvageError;
pub use export::export;
pub use repair::repair;
pub use verify::verify;

#[cfg(test)]
mod tests;
