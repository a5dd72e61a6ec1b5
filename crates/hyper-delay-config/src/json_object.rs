//! Reads a JSON object field by field.

use std::{collections::BTreeMap, fmt, ops::RangeInclusive, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{ConfigError, error::did_you_mean};

/// A day in milliseconds, the longest of many times.
pub(super) const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The entries of an object. A name that is given twice, at any depth, is an error, unlike in
/// `serde_json::Map`.
pub(super) struct UniqueKeys(BTreeMap<String, Value>);

/// The fields of a file that have not been taken yet.
pub(super) struct ConfigFields<'a> {
    file: &'a str,
    remaining: BTreeMap<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> ConfigFields<'a> {
    pub(super) fn read(file: &'a str, json: &str) -> Result<Self, ConfigError> {
        let object = serde_json::from_str(json).map_err(|source| ConfigError::BadJson {
            file: file.to_owned(),
            source,
        });
        object.map(|UniqueKeys(remaining)| Self {
            file,
            remaining,
            known: Vec::new(),
        })
    }

    /// Takes a field; `null` counts as absent. The error of `read` is the cure.
    pub(super) fn take<T>(
        &mut self,
        field: &'static str,
        default: T,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        self.known.push(field);
        match self.remaining.remove(field) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => read(&value).map_err(|cure| self.bad_field(field, &value, cure)),
        }
    }

    /// Takes a field of which `null` is a value of its own, and not the default.
    pub(super) fn nullable<T>(
        &mut self,
        field: &'static str,
        default: Option<T>,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let default = match self.remaining.get(field) {
            Some(Value::Null) => None,
            _ => default,
        };
        self.take(field, default, |value| read(value).map(Some))
    }

    /// Takes a whole number. `unit` is used in errors.
    pub(super) fn number<T: TryFrom<u64>>(
        &mut self,
        field: &'static str,
        default: T,
        unit: &str,
        range: RangeInclusive<u64>,
    ) -> Result<T, ConfigError> {
        self.take(field, default, |value| number(value, unit, range))
    }

    pub(super) fn bad_field(&self, field: &str, value: &Value, cure: String) -> ConfigError {
        ConfigError::BadField {
            file: self.file.to_owned(),
            field: field.to_owned(),
            value: without_users(&value.to_string()),
            cure: without_users(&cure),
        }
    }

    /// # Errors
    ///
    /// If the file has a field that was not taken.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        match self.remaining.into_keys().next() {
            None => Ok(()),
            Some(field) => Err(ConfigError::UnknownField {
                file: self.file.to_owned(),
                meant: closest_name(&field, &self.known),
                field,
                known: self.known.join(", "),
            }),
        }
    }
}

/// An object that is the value of a field. Its errors are cures.
pub(super) struct NestedObject<'a> {
    object: &'a Map<String, Value>,
    wanted: &'a str,
}

impl<'a> NestedObject<'a> {
    /// `known` has the names of its fields, and `wanted` is the cure of what is no such object.
    pub(super) fn read(value: &'a Value, known: &[&str], wanted: &'a str) -> Result<Self, String> {
        let object = value.as_object().ok_or(wanted)?;
        match object.keys().find(|field| !known.contains(&field.as_str())) {
            None => Ok(Self { object, wanted }),
            Some(unknown) => {
                let question = did_you_mean(closest_name(unknown, known));
                Err(format!("{unknown:?} in it is no field: {question}{wanted}"))
            }
        }
    }

    /// Takes a field; `null` counts as absent. The error of `read` is the cure.
    pub(super) fn take<T>(
        &self,
        field: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        match self.object.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                Ok(value) => Ok(Some(value)),
                Err(cure) => Err(format!("{field} in it is {value}: {cure}")),
            },
        }
    }

    /// Takes a field that must be there.
    pub(super) fn require<T>(
        &self,
        field: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, String> {
        self.take(field, read)?
            .ok_or_else(|| format!("{field} is missing in it: {}", self.wanted))
    }
}

/// Returns the field that is most like this misspelt name, if one is.
pub(super) fn closest_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // The measure and the bound with which the command line finds a misspelt option.
    const LEAST: f64 = 0.8;
    let likeness = |field: &&str| strsim::jaro(name, field);
    let best = known
        .iter()
        .copied()
        .max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    best.filter(|field| likeness(field) > LEAST)
}

/// Hides the users of the URLs in a text: they can have passwords.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let end = part.find(['/', '"', ' ']).unwrap_or(part.len());
        let host = part[..end].rfind('@');
        let hidden = if host.is_some() { "***" } else { "" };
        format!("{shown}://{hidden}{}", &part[host.unwrap_or(0)..])
    })
}

/// Returns the path of a file, or the cure.
pub(super) fn file(value: &Value) -> Result<PathBuf, String> {
    path(value).ok_or_else(|| "give the path of a file".to_owned())
}

/// Returns a path. `None` if the value is not one.
pub(super) fn path(value: &Value) -> Option<PathBuf> {
    let path = value
        .as_str()
        .filter(|path| !path.is_empty() && !path.contains('\0'));
    path.map(PathBuf::from)
}

/// Returns a whole number in a range, or the cure.
pub(super) fn number<T: TryFrom<u64>>(
    value: &Value,
    unit: &str,
    range: RangeInclusive<u64>,
) -> Result<T, String> {
    let number = value.as_u64().filter(|number| range.contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("give {unit} from {} to {}", range.start(), range.end()))
}

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueKeysVisitor).map(Self)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = BTreeMap<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with each field once")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((field, UniqueKeysValue(value))) =
            map.next_entry::<String, UniqueKeysValue>()?
        {
            if entries.contains_key(&field) {
                return Err(A::Error::custom(format_args!(
                    "{field} is given twice: give it once"
                )));
            }
            entries.insert(field, value);
        }
        Ok(entries)
    }
}

/// A value whose objects have each field once, at any depth.
struct UniqueKeysValue(Value);

impl<'de> Deserialize<'de> for UniqueKeysValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor).map(Self)
    }
}

struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeysValue(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        let entries = UniqueKeysVisitor.visit_map(map)?;
        Ok(Value::Object(entries.into_iter().collect()))
    }
}
