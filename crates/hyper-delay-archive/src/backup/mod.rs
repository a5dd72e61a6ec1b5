//! Backups: the rows of a store at one moment, as a stream that a running server makes.
//!
//! ```text
//! backup   = "HDBACKUP", version: u32 = 1, header frame, rows frame*, end frame
//! frame    = kind: u8, length: u32, content, checksum: u64
//! header   = the moment in Unix milliseconds, the version of the server, the number of the last
//!            commit, the version of the records                                 (postcard)
//! rows     = space: u8, (key length: u16, value length: u32, key, value)*
//! end      = the number of rows of each space                                   (postcard)
//! ```
//!
//! The start and the header frame keep this form in every version, so that a damaged version is
//! told from a newer one. Numbers are little-endian. A checksum is the XXH3 hash of its frame,
//! seeded with the checksum before it, so that a frame that is missing, doubled or moved shows as
//! well. Nothing follows the end frame. The rows are those of the store itself, without its
//! markers: sequence numbers, revisions, attempts, counts and the deduplication window are the same
//! after a restore.
//!
//! A node of a cluster makes one backup of all shards in this form, from what its replicas contain.
//! The shards are as they were at different moments, each between two of its commits. The rows have
//! the keys that they have in the shards; what shards have under the same key is joined, so that a
//! server without a cluster can restore it: counts are added up, and the positions of the replicas
//! in their journals are left out.

mod format;
mod stream;

mod check;
mod error;
mod import;
mod new_store;
mod reader;
mod restore;
mod running_jobs;

pub use check::{BackupSummary, check};
pub use error::BackupError;
pub use format::BackupHeader;
pub use import::{ImportLimits, Importer, OriginalTimes};
pub use new_store::NewStore;
pub use reader::BackupReader;
pub use restore::restore;
pub use stream::BackupStream;

#[cfg(test)]
mod tests;
