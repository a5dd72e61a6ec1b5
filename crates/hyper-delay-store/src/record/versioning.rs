//! Values with the version of their format, which later versions extend.

use serde::{Deserialize, Deserializer, Serialize};

use super::TaskEntry;
use crate::{Bytes, StoreError};

/// The version of a record without an extension.
const PLAIN: u8 = 1;

/// The version of a record with an extension, the newest that this server reads and writes.
pub const VERSION: u8 = 2;

/// The value of a row of the store.
///
/// A record may have an extension: fields that most of its kind lack. It follows the other fields,
/// and the version says that it is there.
pub trait Record<'a>: Serialize + Deserialize<'a> {
    /// Whether it has an extension.
    fn has_extension(&self) -> bool {
        false
    }

    /// Appends the extension.
    fn extension(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// Reads the extension, and returns what follows it.
    ///
    /// # Errors
    ///
    /// If records of this kind have none, or it is damaged.
    fn extend(&mut self, _extension: &'a [u8]) -> Result<&'a [u8], StoreError> {
        let reason = "records of this kind have no extension";
        Err(StoreError::damage("read a record", reason))
    }
}

impl Record<'_> for u64 {}

impl Record<'_> for () {}

/// Encodes a record.
pub fn encode<'a, R: Record<'a>>(record: &R) -> Bytes {
    encode_with_hint(record, 0)
}

/// Encodes a record whose variable part has about `length` bytes.
pub fn encode_with_hint<'a, R: Record<'a>>(record: &R, length: usize) -> Bytes {
    encode_to_vec(record, length).into()
}

pub(super) fn encode_to_vec<'a, R: Record<'a>>(record: &R, length: usize) -> Vec<u8> {
    /// The fixed fields, and the ids and routes of most tasks.
    const FIXED: usize = 128;
    let mut bytes = Vec::with_capacity(FIXED + length);
    if !record.has_extension() {
        bytes.push(PLAIN);
        return append(record, bytes);
    }
    bytes.push(VERSION);
    record.extension(append(record, bytes))
}

/// Encodes the entry of a dead letter with the reason for its death. A server of an older version
/// reads only the entry, if it has no extension.
#[must_use]
pub fn encode_dead(entry: &TaskEntry<'_>, reason: &str) -> Bytes {
    let mut bytes = encode_to_vec(entry, reason.len());
    bytes.extend_from_slice(reason.as_bytes());
    bytes.into()
}

/// Decodes the entry of a dead letter and the reason for its death, if one is stored.
///
/// # Errors
///
/// If the bytes are damaged, or a newer server wrote them.
pub fn decode_dead(bytes: &[u8]) -> Result<(TaskEntry<'_>, Option<&str>), StoreError> {
    let (entry, reason) = decode_with_rest(bytes)?;
    let reason =
        std::str::from_utf8(reason).map_err(|error| StoreError::damage("read a record", error))?;
    Ok((entry, Some(reason).filter(|reason| !reason.is_empty())))
}

/// Encodes a record and another one after it. A server of an older version reads only the first.
pub(super) fn encode_pair<'a, R: Record<'a>>(record: &R, second: &impl Serialize) -> Bytes {
    append(second, encode_to_vec(record, 0)).into()
}

/// Decodes a record and the one after it, if there is one.
pub(super) fn decode_pair<'a, R: Record<'a>, S: Deserialize<'a>>(
    bytes: &'a [u8],
) -> Result<(R, Option<S>), StoreError> {
    let (record, rest) = decode_with_rest(bytes)?;
    let second = match rest {
        [] => None,
        rest => Some(take(rest)?.0),
    };
    Ok((record, second))
}

/// Decodes a record.
///
/// # Errors
///
/// If the bytes are damaged, or a newer server wrote them.
pub fn decode<'a, R: Record<'a>>(bytes: &'a [u8]) -> Result<R, StoreError> {
    decode_with_rest(bytes).map(|(record, _)| record)
}

/// Reads the last field of a record, which older servers did not write: 0 then.
pub(super) fn missing_as_zero<'a, D: Deserializer<'a>>(field: D) -> Result<u64, D::Error> {
    Ok(u64::deserialize(field).unwrap_or_default())
}

/// Decodes a record, and returns what follows it.
pub(super) fn decode_with_rest<'a, R: Record<'a>>(
    bytes: &'a [u8],
) -> Result<(R, &'a [u8]), StoreError> {
    let (version, fields) = bytes
        .split_first()
        .ok_or_else(|| StoreError::damage("read a record", "the record is empty"))?;
    match *version {
        PLAIN => take(fields),
        VERSION => {
            let (mut record, extension): (R, _) = take(fields)?;
            let rest = record.extend(extension)?;
            Ok((record, rest))
        }
        0 => {
            let found = "its version 0 does not exist".to_owned();
            Err(StoreError::damage("read a record", found))
        }
        newer => {
            let found = format!("its version is {newer}, and this server reads {VERSION}");
            Err(StoreError::newer("read a record", found))
        }
    }
}

/// Appends fields.
pub(super) fn append<T: Serialize>(fields: &T, bytes: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(fields, bytes).expect("a vector takes every record")
}

/// Takes fields from the start of the bytes, and returns the rest.
pub(super) fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), StoreError> {
    postcard::take_from_bytes(bytes).map_err(|error| StoreError::damage("read a record", error))
}
