//! Decodes one field of a line.

use std::{borrow::Cow, ops::RangeInclusive, sync::Arc};

use serde_json::value::RawValue;

use super::{Code, Credential};

/// The longest id, route and tag, in bytes.
const NAME: usize = 128;

/// Error messages show at most this many bytes of a value.
const SHOWN: usize = 64;

/// The highest number that is exact in every language: 2^53. The latest time and the longest delay, in
/// milliseconds.
pub const EXACT: u64 = 1 << 53;

/// An error in a line: a [`Refusal`](super::Refusal) without id, route and tag.
#[derive(Debug)]
pub(super) struct FieldError {
    pub(super) code: Code,
    pub(super) message: String,
}

/// A field of a line, present or absent.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) raw: Option<&'a RawValue>,
}

impl<'a> Field<'a> {
    /// Reads an id or a route.
    pub(super) fn name(self) -> Result<Option<Arc<str>>, FieldError> {
        self.read(|raw| {
            let wanted = "give a string of 1 to 128 bytes";
            match text(raw) {
                Some(text) if (1..=NAME).contains(&text.len()) => Ok(Arc::from(text)),
                Some(text) if !text.is_empty() => Err(self.bad_length(text.len(), raw, wanted)),
                _ => Err(self.bad(raw, wanted)),
            }
        })
    }

    /// Reads a tag: like a name, but it may be empty.
    pub(super) fn tag(self) -> Result<Option<Arc<str>>, FieldError> {
        self.read(|raw| {
            let wanted = "give a string of at most 128 bytes";
            match text(raw) {
                Some(text) if text.len() <= NAME => Ok(Arc::from(text)),
                Some(text) => Err(self.bad_length(text.len(), raw, wanted)),
                None => Err(self.bad(raw, wanted)),
            }
        })
    }

    /// Reads a string of any length.
    pub(super) fn text(self) -> Result<Option<Cow<'a, str>>, FieldError> {
        self.read(|raw| text(raw).ok_or_else(|| self.bad(raw, "give a string")))
    }

    /// Reads the text of a payload. No error contains any of it.
    pub(super) fn payload(self) -> Result<Option<Cow<'a, str>>, FieldError> {
        self.read(|raw| {
            text(raw).ok_or_else(|| FieldError {
                code: Code::BadField,
                message: format!("{} is not a string: give one", self.name),
            })
        })
    }

    /// Reads a token. No error contains any of it.
    pub(super) fn credential(self) -> Result<Option<Box<Credential>>, FieldError> {
        self.read(|raw| match text(raw) {
            Some(text) => Ok(Box::new(Credential::new(&text))),
            None => Err(FieldError {
                code: Code::BadField,
                message: format!("{} is not a string: give a token", self.name),
            }),
        })
    }

    /// Reads a whole number. `what` names it in error messages.
    pub(super) fn number(
        self,
        what: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, FieldError> {
        self.read(|raw| {
            number(raw, &range).ok_or_else(|| {
                self.bad(
                    raw,
                    &format!("give {what} from {}, as a whole number", shown(&range)),
                )
            })
        })
    }

    /// Reads a boolean. Default: `false`.
    pub(super) fn flag(self) -> Result<bool, FieldError> {
        self.flag_or(false)
    }

    /// Reads true or false; `default` if the field is absent.
    pub(super) fn flag_or(self, default: bool) -> Result<bool, FieldError> {
        let value = self.read(|raw| match raw {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.bad(raw, "give true or false")),
        })?;
        Ok(value.unwrap_or(default))
    }

    /// Reads the name of one of these values.
    pub(super) fn one_of<T: Copy>(
        self,
        values: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, FieldError> {
        self.read(|raw| {
            let text = text(raw);
            let value = values
                .iter()
                .find(|value| text.as_deref() == Some(name(**value)));
            value.copied().ok_or_else(|| {
                let names: Vec<_> = values
                    .iter()
                    .map(|value| format!("\"{}\"", name(*value)))
                    .collect();
                self.bad(raw, &format!("give {}", names.join(" or ")))
            })
        })
    }

    /// Reads a list of names of these values, with one of them at least.
    pub(super) fn list_of<T: Copy>(
        self,
        values: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<Option<Vec<T>>, FieldError> {
        self.read(|raw| {
            let listed: Option<Vec<Cow<'_, str>>> = serde_json::from_str(raw).ok();
            let listed = listed.filter(|listed| !listed.is_empty());
            let named = |text: &Cow<'_, str>| {
                let mut values = values.iter().copied();
                values.find(|value| name(*value) == &**text)
            };
            let found = listed.and_then(|listed| listed.iter().map(named).collect());
            found.ok_or_else(|| {
                let names: Vec<_> = values.iter().map(|value| name(*value)).collect();
                self.bad(raw, &format!("give a list with one or more of {names:?}"))
            })
        })
    }

    /// Returns `value`, which was read from this field.
    ///
    /// # Errors
    ///
    /// `missing_field` if there is no value.
    pub(super) fn required<T>(self, value: Option<T>, wanted: &str) -> Result<T, FieldError> {
        value.ok_or_else(|| FieldError {
            code: Code::MissingField,
            message: format!("{} is missing: give {wanted}", self.name),
        })
    }

    pub(super) fn bad(self, raw: &str, wanted: &str) -> FieldError {
        self.fault(&clipped(raw), wanted)
    }

    fn bad_length(self, length: usize, raw: &str, wanted: &str) -> FieldError {
        let shown = format!("{}, {length} bytes long", clipped(raw));
        self.fault(&shown, wanted)
    }

    fn fault(self, shown: &str, wanted: &str) -> FieldError {
        FieldError {
            code: Code::BadField,
            message: format!("{} is {shown}: {wanted}", self.name),
        }
    }

    pub(super) fn read<T>(
        self,
        read: impl FnOnce(&'a str) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        self.raw.map(|raw| read(raw.get())).transpose()
    }
}

/// The text of a JSON string, borrowed if it contains no escape.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    match memchr::memchr(b'\\', inner.as_bytes()) {
        None => Some(Cow::Borrowed(inner)),
        // The only possible error is an unpaired surrogate.
        Some(_) => serde_json::from_str(raw).ok().map(Cow::Owned),
    }
}

/// Reads digits only: JSON would allow a sign, a fraction and an exponent.
pub(super) fn number(raw: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    let digits = raw.bytes().all(|byte| byte.is_ascii_digit());
    let value = raw.parse().ok().filter(|_| digits)?;
    range.contains(&value).then_some(value)
}

fn shown(range: &RangeInclusive<u64>) -> String {
    match *range.end() {
        EXACT => format!("{} to 2^53", range.start()),
        end => format!("{} to {end}", range.start()),
    }
}

/// The start of a value, short enough for an error message.
pub(super) fn clipped(raw: &str) -> Cow<'_, str> {
    if raw.len() <= SHOWN {
        return Cow::Borrowed(raw);
    }
    let end = (0..=SHOWN).rev().find(|end| raw.is_char_boundary(*end));
    Cow::Owned(format!("{}…", &raw[..end.unwrap_or_default()]))
}
