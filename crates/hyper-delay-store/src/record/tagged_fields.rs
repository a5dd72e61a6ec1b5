//! The extension of records of version 3.
//!
//! ```text
//! length of the list in bytes: varint, then for each field:
//! tag: varint, length of the value: varint, value
//! ```
//!
//! A later version of the server can add tags. A server that does not know a tag must not read the
//! record without it: the record counts as one of a newer version.

use super::{append, take, terms::take_terms};
use crate::StoreError;
use hyper_delay_protocol::Terms;

/// The terms of a task.
pub(super) const TERMS: u32 = 1;

/// The headers of a task.
pub(super) const HEADERS: u32 = 2;

/// The delay that a task was scheduled with.
pub(super) const DELAY_MS: u32 = 3;

/// The time that a bulk operation moves tasks to.
pub(super) const MOVE_DUE: u32 = 4;

/// The milliseconds by which a bulk operation moves tasks.
pub(super) const MOVE_SHIFT_MS: u32 = 5;

/// The state of the tasks that a bulk operation moves.
pub(super) const MOVE_STATE: u32 = 6;

/// The fields of the extension of a record, encoded.
#[derive(Debug, Default)]
pub struct TaggedFields {
    bytes: Vec<u8>,
}

impl TaggedFields {
    /// Appends a field.
    pub(super) fn add(&mut self, tag: u32, value: &[u8]) {
        self.bytes = append(&(tag, value), std::mem::take(&mut self.bytes));
    }

    /// Appends the list to a record.
    pub(super) fn append_to(self, bytes: Vec<u8>) -> Vec<u8> {
        append(&&*self.bytes, bytes)
    }
}

/// Calls `set` with the tag and the value of each field, and returns what follows the list.
///
/// # Errors
///
/// If the list is damaged, or `set` does not know a tag.
pub(super) fn read<'a>(
    extension: &'a [u8],
    mut set: impl FnMut(u32, &'a [u8]) -> Result<bool, StoreError>,
) -> Result<&'a [u8], StoreError> {
    let (mut list, rest): (&[u8], _) = take(extension)?;
    let mut seen = Vec::new();
    while !list.is_empty() {
        let ((tag, value), others): ((u32, &[u8]), _) = take(list)?;
        list = others;
        if seen.contains(&tag) {
            let found = format!("its field {tag} is there twice");
            return Err(StoreError::damage("read a record", found));
        }
        seen.push(tag);
        if !set(tag, value)? {
            let found = format!("its field {tag} is of a newer server");
            return Err(StoreError::newer("read a record", found));
        }
    }
    Ok(rest)
}

/// Sets the terms from a field. Returns false if the field has another tag.
pub(super) fn set_terms(
    tag: u32,
    value: &[u8],
    terms: &mut Option<Box<Terms>>,
) -> Result<bool, StoreError> {
    if tag != TERMS {
        return Ok(false);
    }
    *terms = take_terms(value)?.0;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order_and_what_follows_is_left() {
        let mut fields = TaggedFields::default();
        fields.add(TERMS, b"");
        fields.add(300, &[7; 200]);
        let mut bytes = fields.append_to(Vec::new());
        bytes.extend_from_slice(b"rest");
        let mut found = Vec::new();
        let rest = read(&bytes, |tag, value| {
            found.push((tag, value.len()));
            Ok(true)
        });
        assert_eq!(rest.unwrap(), b"rest");
        assert_eq!(found, [(TERMS, 0), (300, 200)]);
        for cut in 0..bytes.len() - 4 {
            read(&bytes[..cut], |_, _| Ok(true)).unwrap_err();
        }
    }

    #[test]
    fn an_unknown_field_is_of_a_newer_server_and_a_double_one_is_damage() {
        let mut fields = TaggedFields::default();
        fields.add(9, b"x");
        let bytes = fields.append_to(Vec::new());
        let error = read(&bytes, |_, _| Ok(false)).unwrap_err();
        assert!(!error.is_damage());
        assert!(error.to_string().contains("field 9"), "{error}");
        let mut fields = TaggedFields::default();
        fields.add(HEADERS, b"x");
        fields.add(HEADERS, b"x");
        let bytes = fields.append_to(Vec::new());
        assert!(read(&bytes, |_, _| Ok(true)).unwrap_err().is_damage());
    }
}
