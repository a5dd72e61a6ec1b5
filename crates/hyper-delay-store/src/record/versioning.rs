//! Values with the version of their format, which later versions extend.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    TaskEntry,
    tagged_fields::{self, TaggedFields},
};
use crate::{Bytes, StoreError};

/// The version of a record without an extension.
const PLAIN: u8 = 1;

/// The version of a record with an extension of fixed fields.
const EXTENDED: u8 = 2;

/// The version of a record with tagged fields, the newest that this server reads and writes.
pub const VERSION: u8 = 3;

/// The value of a row of the store.
///
/// A record may have an extension: fields that most of its kind lack. It follows the other fields,
/// and the version says that it is there. In version 2 the extension is what 0.3 knows. A record with
/// a field that 0.3 does not know has version 3, whose extension is a list of [tagged
/// fields](TaggedFields), those of version 2 among them.
pub trait Record<'a>: Serialize + Deserialize<'a> {
    /// Whether it has an extension.
    fn has_extension(&self) -> bool {
        false
    }

    /// Whether it has a field that needs version 3.
    fn has_tagged_fields(&self) -> bool {
        false
    }

    /// Appends all fields of the extension, for version 3.
    fn tagged_fields(&self, _fields: &mut TaggedFields) {}

    /// Sets a field of the extension in version 3. Returns false if the tag is unknown.
    ///
    /// # Errors
    ///
    /// If the value is damaged.
    fn set_tagged_field(&mut self, _tag: u32, _value: &'a [u8]) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Appends what follows the fields in every version. Servers that do not know it ignore it.
    fn append_rest(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// Reads what [`append_rest`](Self::append_rest) has appended, and returns what follows it.
    ///
    /// # Errors
    ///
    /// If it is damaged.
    fn read_rest(&mut self, rest: &'a [u8]) -> Result<&'a [u8], StoreError> {
        Ok(rest)
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
    if record.has_tagged_fields() {
        bytes.push(VERSION);
        let mut fields = TaggedFields::default();
        record.tagged_fields(&mut fields);
        return record.append_rest(fields.append_to(append(record, bytes)));
    }
    if !record.has_extension() {
        bytes.push(PLAIN);
        return record.append_rest(append(record, bytes));
    }
    bytes.push(EXTENDED);
    record.append_rest(record.extension(append(record, bytes)))
}

/// Whether the value of a row needs a server that reads version 3.
#[must_use]
pub fn needs_version_3(value: &[u8]) -> bool {
    value.first().is_some_and(|version| *version >= VERSION)
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

/// Decodes a record and the one after it, if there is one, as version 0.3 does.
#[cfg(test)]
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
        PLAIN => {
            let (mut record, rest): (R, _) = take(fields)?;
            let rest = record.read_rest(rest)?;
            Ok((record, rest))
        }
        EXTENDED => {
            let (mut record, extension): (R, _) = take(fields)?;
            let rest = record.extend(extension)?;
            let rest = record.read_rest(rest)?;
            Ok((record, rest))
        }
        VERSION => {
            let (mut record, extension): (R, _) = take(fields)?;
            let rest =
                tagged_fields::read(extension, |tag, value| record.set_tagged_field(tag, value))?;
            let rest = record.read_rest(rest)?;
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
