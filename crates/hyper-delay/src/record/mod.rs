//! What is written under the keys of the store, and the keys.
//!
//! A record is a byte for its version, then its fields in the format of the crate `postcard`, which is specified
//! and stable. A server reads every version that was ever released, and writes the newest.

mod counts;
mod entry;
pub mod key;
mod name;
mod task;

use serde::{Deserialize, Serialize};

pub use counts::Counts;
pub use entry::Entry;
pub use name::{Done, Name, Place};
pub use task::{Digest, Task};

use crate::store::{Bytes, StoreError};

/// The version of the records that this server writes.
const VERSION: u8 = 1;

/// A record as bytes.
pub(crate) fn encode<R: Serialize>(record: &R) -> Bytes {
    encode_about(record, 0)
}

/// A record whose variable part has about that length, as bytes.
pub(crate) fn encode_about<R: Serialize>(record: &R, length: usize) -> Bytes {
    /// All that is not variable, and the ids and routes of most.
    const FIXED: usize = 128;
    let mut bytes = Vec::with_capacity(FIXED + length);
    bytes.push(VERSION);
    let bytes = postcard::to_extend(record, bytes).expect("memory takes every record");
    bytes.into()
}

/// The entry of a dead letter as bytes, with the reason why it is dead. A server that does not know
/// of reasons reads the entry alone.
pub(crate) fn encode_dead(entry: &Entry<'_>, reason: &str) -> Bytes {
    let mut bytes = encode(entry).to_vec();
    bytes.extend_from_slice(reason.as_bytes());
    bytes.into()
}

/// The entry of a dead letter, and the reason why it is dead, if it has one.
pub(crate) fn decode_dead(bytes: &[u8]) -> Result<(Entry<'_>, Option<&str>), StoreError> {
    let (entry, reason) = postcard::take_from_bytes(fields(bytes)?)
        .map_err(|error| StoreError::damage("read a record", error))?;
    let reason =
        std::str::from_utf8(reason).map_err(|error| StoreError::damage("read a record", error))?;
    Ok((entry, Some(reason).filter(|reason| !reason.is_empty())))
}

/// Bytes as a record.
pub(crate) fn decode<'a, R: Deserialize<'a>>(bytes: &'a [u8]) -> Result<R, StoreError> {
    postcard::from_bytes(fields(bytes)?).map_err(|error| StoreError::damage("read a record", error))
}

/// The fields of a record, behind its version.
fn fields(bytes: &[u8]) -> Result<&[u8], StoreError> {
    let (version, fields) = bytes
        .split_first()
        .ok_or_else(|| StoreError::damage("read a record", "it is empty"))?;
    if *version != VERSION {
        let found =
            format!("it has version {version}, and this server knows {VERSION}: start a newer one");
        return Err(StoreError::new("read a record", found));
    }
    Ok(fields)
}
