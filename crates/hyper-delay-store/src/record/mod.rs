//! The keys and the values of the store.
//!
//! A value is one byte for its version, then its fields in the format of the crate `postcard`,
//! which is specified and stable. A server reads every released version. It writes the oldest one
//! that has all fields of the record.

mod audit;
mod bulk_job;
mod counts;
mod entry_row;
mod failure;
pub mod key;
mod name;
#[cfg(test)]
mod release_0_3;
mod retrying;
mod set_hash;
pub mod sharded_number;
mod tagged_fields;
mod task;
mod task_entry;
mod terms;
mod versioning;

pub use audit::{AuditFilter, AuditLine};
pub use bulk_job::{BulkJob, JobAction, JobState};
pub use counts::StoredCounts;
pub use entry_row::EntryRow;
pub use name::{ExpiryEntry, FinishedTask, Name, Place};
pub use retrying::{RetryingCounts, RetryingEntry};
pub use set_hash::SetHash;
pub use tagged_fields::TaggedFields;
pub use task::{Digest, Task};
pub use task_entry::TaskEntry;
pub use terms::stored_terms;
#[cfg(test)]
use versioning::decode_pair;
pub use versioning::{
    Record, VERSION, decode, decode_dead, encode, encode_dead, encode_with_hint, needs_version_3,
};
use versioning::{append, decode_with_rest, encode_pair, missing_as_zero, take};
