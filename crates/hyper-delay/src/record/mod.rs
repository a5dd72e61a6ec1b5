//! The keys and the values of the store.
//!
//! A value is one byte for its version, then its fields in the format of the crate `postcard`,
//! which is specified and stable. A server reads every released version and writes the newest.

mod audit;
mod counts;
mod entry;
mod job;
pub(crate) mod key;
mod name;
mod placed;
mod task;

use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use audit::{AuditFilter, AuditLine};
pub(crate) use counts::Counts;
pub(crate) use entry::Entry;
pub(crate) use job::{Act, Job, Progress};
pub(crate) use name::{Done, Name, Place};
pub(crate) use placed::Placed;
pub(crate) use task::{Digest, Task};

use crate::store::{Bytes, StoreError};

/// The version of the records that this server writes.
pub(crate) const VERSION: u8 = 1;

/// Encodes a record.
pub(crate) fn encode<R: Serialize>(record: &R) -> Bytes {
    encode_with_hint(record, 0)
}

/// Encodes a record whose variable part has about `length` bytes.
pub(crate) fn encode_with_hint<R: Serialize>(record: &R, length: usize) -> Bytes {
    /// The fixed fields, and the ids and routes of most tasks.
    const FIXED: usize = 128;
    let mut bytes = Vec::with_capacity(FIXED + length);
    bytes.push(VERSION);
    let bytes = postcard::to_extend(record, bytes).expect("a vector takes every record");
    bytes.into()
}

/// Encodes the entry of a dead letter with the reason for its death. A server of an older version
/// reads only the entry.
pub(crate) fn encode_dead(entry: &Entry<'_>, reason: &str) -> Bytes {
    let mut bytes = encode(entry).to_vec();
    bytes.extend_from_slice(reason.as_bytes());
    bytes.into()
}

/// Decodes the entry of a dead letter and the reason for its death, if one is stored.
pub(crate) fn decode_dead(bytes: &[u8]) -> Result<(Entry<'_>, Option<&str>), StoreError> {
    let (entry, reason) = postcard::take_from_bytes(fields(bytes)?)
        .map_err(|error| StoreError::damage("read a record", error))?;
    let reason =
        std::str::from_utf8(reason).map_err(|error| StoreError::damage("read a record", error))?;
    Ok((entry, Some(reason).filter(|reason| !reason.is_empty())))
}

/// Encodes a record and another one after it. A server of an older version reads only the first.
pub(crate) fn encode_followed(record: &impl Serialize, second: &impl Serialize) -> Bytes {
    let bytes = encode(record).to_vec();
    let bytes = postcard::to_extend(second, bytes).expect("a vector takes every record");
    bytes.into()
}

/// Decodes a record and the one after it, if there is one.
pub(crate) fn decode_followed<'a, R: Deserialize<'a>, S: Deserialize<'a>>(
    bytes: &'a [u8],
) -> Result<(R, Option<S>), StoreError> {
    let damage = |error| StoreError::damage("read a record", error);
    let (record, rest) = postcard::take_from_bytes(fields(bytes)?).map_err(damage)?;
    let second = match rest {
        [] => None,
        rest => Some(postcard::from_bytes(rest).map_err(damage)?),
    };
    Ok((record, second))
}

/// Decodes a record.
pub(crate) fn decode<'a, R: Deserialize<'a>>(bytes: &'a [u8]) -> Result<R, StoreError> {
    postcard::from_bytes(fields(bytes)?).map_err(|error| StoreError::damage("read a record", error))
}

/// Reads the last field of a record, which older servers did not write: 0 then.
fn or_zero<'a, D: Deserializer<'a>>(field: D) -> Result<u64, D::Error> {
    Ok(u64::deserialize(field).unwrap_or_default())
}

/// Returns the fields of a record, without its version.
fn fields(bytes: &[u8]) -> Result<&[u8], StoreError> {
    let (version, fields) = bytes
        .split_first()
        .ok_or_else(|| StoreError::damage("read a record", "the record is empty"))?;
    if *version > VERSION {
        let found = format!("its version is {version}, and this server reads {VERSION}");
        return Err(StoreError::newer("read a record", found));
    }
    if *version != VERSION {
        let found = format!("its version {version} does not exist");
        return Err(StoreError::damage("read a record", found));
    }
    Ok(fields)
}
