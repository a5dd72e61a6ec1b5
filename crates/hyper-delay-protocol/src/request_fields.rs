//! The fields of a request as raw JSON.

use std::fmt;

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use super::{
    Code,
    field::{Field, FieldError, clipped},
    field_name::{FieldName, FieldSet, for_each_field},
    request_kind::RequestKind,
};

const CURE: &str = "send one JSON object on one line";

/// Whether a line may have fields that its kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFields {
    Ignored,
    Refused,
}

/// The raw value of each field. One pass over the line finds them; a field is decoded only if the
/// request uses it, so that the values of other fields do not matter.
pub(super) struct RequestFields<'a> {
    values: [Option<&'a RawValue>; FieldName::COUNT],
    /// The fields that the line has, also those that are `null`.
    seen: FieldSet,
    other: OtherFields,
    /// The first field that no kind has, if other fields are refused.
    unknown: Option<Box<str>>,
}

/// Defines a method for each field.
macro_rules! accessors {
    ($($variant:ident $name:ident)*) => {
        impl<'a> RequestFields<'a> {
            $(pub(super) fn $name(&self) -> Field<'a> {
                self.field(FieldName::$variant)
            })*
        }
    };
}

for_each_field!(accessors);

/// The fields of [`Terms`](super::Terms).
const TERMS: FieldSet = FieldSet::of(&[
    FieldName::ExpiresAt,
    FieldName::AckTimeoutMs,
    FieldName::MaxAttempts,
    FieldName::RetryDelayMs,
    FieldName::MaxRetryDelayMs,
]);

impl<'a> RequestFields<'a> {
    fn field(&self, name: FieldName) -> Field<'a> {
        Field {
            name: name.as_str(),
            raw: self.values[name as usize],
        }
    }

    /// Whether the line has one of the fields of [`Terms`](super::Terms).
    pub(super) const fn has_terms(&self) -> bool {
        self.seen.meets(TERMS)
    }

    /// Whether other fields are refused.
    pub(super) fn is_strict(&self) -> bool {
        self.other == OtherFields::Refused
    }

    /// Checks the names of the fields of a request of this kind, if others are refused. A kind that
    /// does not exist is not checked.
    pub(super) fn check_names(&self, kind: &str) -> Result<(), FieldError> {
        if !self.is_strict() {
            return Ok(());
        }
        match RequestKind::named(kind) {
            Some(kind) => kind.check(self.seen, self.unknown.as_deref()),
            None => Ok(()),
        }
    }

    /// Finds the fields of a line.
    ///
    /// # Errors
    ///
    /// The line is not one JSON object in UTF-8, or has one of these fields twice.
    pub(super) fn read(line: &'a [u8], other: OtherFields) -> Result<Self, FieldError> {
        let text = std::str::from_utf8(line).map_err(|error| FieldError {
            code: Code::BadUtf8,
            message: format!(
                "byte {} of the line is not UTF-8: send the text in UTF-8",
                error.valid_up_to() + 1
            ),
        })?;
        let start = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if !start.starts_with('{') {
            return Err(bad_json(format!("the line is {}: {CURE}", clipped(text))));
        }
        let mut fields = Self {
            values: [None; FieldName::COUNT],
            seen: FieldSet::default(),
            other,
            unknown: None,
        };
        let mut json = serde_json::Deserializer::from_str(text);
        let read = json.deserialize_map(FieldsVisitor(&mut fields));
        match read.and_then(|()| json.end()) {
            Ok(()) => Ok(fields),
            Err(error) => Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &serde_json::Error) -> FieldError {
    let column = error.column();
    match error.classify() {
        Category::Data => bad_json(format!("{error}: give each field once")),
        _ => bad_json(format!(
            "not JSON at byte {column} of the line, {error}: {CURE}"
        )),
    }
}

/// Reads the object of a line.
struct FieldsVisitor<'f, 'a>(&'f mut RequestFields<'a>);

impl<'a> Visitor<'a> for FieldsVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut object: A) -> Result<(), A::Error> {
        let Self(fields) = self;
        while let Some(key) = object.next_key_seed(KeySeed {
            other: fields.other,
        })? {
            match key {
                Key::Known(name) if fields.seen.has(name) => {
                    return Err(A::Error::duplicate_field(name.as_str()));
                }
                Key::Known(name) => {
                    fields.seen = fields.seen.with(name);
                    fields.values[name as usize] = object.next_value()?;
                }
                Key::Unknown(name) => {
                    fields.unknown = fields.unknown.take().or(name);
                    let IgnoredAny = object.next_value()?;
                }
            }
        }
        Ok(())
    }
}

/// The name of a field.
enum Key {
    Known(FieldName),
    /// A field that no kind has, with its name if other fields are refused.
    Unknown(Option<Box<str>>),
}

struct KeySeed {
    other: OtherFields,
}

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: serde::Deserializer<'de>>(self, key: D) -> Result<Key, D::Error> {
        key.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        Ok(match FieldName::named(name) {
            Some(name) => Key::Known(name),
            None => Key::Unknown((self.other == OtherFields::Refused).then(|| Box::from(name))),
        })
    }
}

fn bad_json(message: String) -> FieldError {
    FieldError {
        code: Code::BadJson,
        message,
    }
}
