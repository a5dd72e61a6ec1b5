//! Names and values that a task carries to its consumer.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use super::field::{Field, FieldError};

/// The most headers of a task.
const MOST: usize = 32;

/// The longest name, in bytes.
const NAME: usize = 64;

/// The longest value, in bytes.
const VALUE: usize = 1_024;

/// The longest text of all headers, in bytes of JSON.
const TEXT: usize = 4_096;

/// Names and values for the consumer, kept as the text of a JSON object. Default: none.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Headers {
    /// Empty if there are none.
    text: Box<str>,
}

impl Headers {
    /// Returns the JSON object of the headers; empty if there are none.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value of a header in the JSON object of the headers.
    #[must_use]
    pub fn find(text: &str, name: &str) -> Option<String> {
        let HeaderPairs(pairs) = serde_json::from_str(text).ok()?;
        let found = pairs.into_iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }

    /// Makes headers of the text of a JSON object that was made by [`text`](Self::text).
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// Returns the names and values.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        let pairs = serde_json::from_str(&self.text).map(|HeaderPairs(pairs)| pairs);
        pairs.unwrap_or_default()
    }

    pub(super) fn read(field: Field<'_>) -> Result<Self, FieldError> {
        let Some(raw) = field.raw.map(serde_json::value::RawValue::get) else {
            return Ok(Self::default());
        };
        // A value can be a secret, so errors have the names and the sizes only.
        let pairs: HeaderPairs = serde_json::from_str(raw)
            .map_err(|_| field.bad(kind_of(raw), "give an object of names and strings"))?;
        let shown = format!("an object of {}", pairs.0.len());
        if let Some(why) = pairs.invalid_header() {
            return Err(field.bad(&shown, &why));
        }
        let text = match pairs.0.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&pairs).expect("strings are JSON"),
        };
        if text.len() > TEXT {
            let wanted = format!(
                "give at most {TEXT} bytes of JSON; these are {}",
                text.len()
            );
            return Err(field.bad(&shown, &wanted));
        }
        Ok(Self { text: text.into() })
    }
}

/// Names the kind of a JSON value that is no headers.
fn kind_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "an object with a value that is no string",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

/// The headers in their order.
struct HeaderPairs(Vec<(String, String)>);

impl HeaderPairs {
    /// Returns the cure if there is something wrong with them.
    fn invalid_header(&self) -> Option<String> {
        let mut names = HashSet::new();
        if self.0.len() > MOST {
            return Some(format!(
                "give at most {MOST} headers; these are {}",
                self.0.len()
            ));
        }
        self.0.iter().find_map(|(name, value)| {
            if !(1..=NAME).contains(&name.len()) {
                let length = name.len();
                Some(format!("give names of 1 to {NAME} bytes; one has {length}"))
            } else if value.len() > VALUE {
                Some(format!(
                    "give values of at most {VALUE} bytes, as not that of {name:?}"
                ))
            } else if !names.insert(name) {
                Some(format!("give each name once, as not {name:?}"))
            } else {
                None
            }
        })
    }
}

impl<'de> Deserialize<'de> for HeaderPairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeaderPairsVisitor;

        impl<'de> Visitor<'de> for HeaderPairsVisitor {
            type Value = HeaderPairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and strings")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(HeaderPairs(pairs))
            }
        }

        deserializer.deserialize_map(HeaderPairsVisitor)
    }
}

impl Serialize for HeaderPairs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Request, TaskRequest, parse};

    fn headers(value: &str) -> Result<String, String> {
        let line = format!(r#"{{"kind":"schedule","fire_at":5,"headers":{value}}}"#);
        match parse(line.as_bytes()).map(|line| line.request) {
            Ok(Request::Task(TaskRequest::Schedule(schedule))) => {
                Ok(schedule.headers.text().to_owned())
            }
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.message),
        }
    }

    #[test]
    fn headers_keep_their_order_and_lose_their_spaces() {
        assert_eq!(headers("null").unwrap(), "");
        assert_eq!(headers("{}").unwrap(), "");
        let given = r#"{ "traceparent" : "00-\u0061", "b":"" }"#;
        assert_eq!(headers(given).unwrap(), r#"{"traceparent":"00-a","b":""}"#);
    }

    #[test]
    fn other_headers_are_refused_with_the_cure() {
        let object = |names: usize, name: usize, value: usize| {
            let value = "v".repeat(value);
            let one = |number| format!("\"{number:0>name$}\":\"{value}\"");
            let all: Vec<_> = (0..names).map(one).collect();
            format!("{{{}}}", all.join(","))
        };
        for (value, part) in [
            (
                "5".to_owned(),
                "headers is a number: give an object of names and strings",
            ),
            (r#"["a"]"#.to_owned(), "headers is a list: give an object"),
            (
                r#"{"a":1}"#.to_owned(),
                "headers is an object with a value that is no string: give an object",
            ),
            (
                r#"{"":"a"}"#.to_owned(),
                "headers is an object of 1: give names of 1 to 64 bytes; one has 0",
            ),
            (object(1, 65, 1), "give names of 1 to 64 bytes; one has 65"),
            (
                object(1, 1, 1_025),
                "give values of at most 1024 bytes, as not that of \"0\"",
            ),
            (
                r#"{"a":"1","\u0061":"2"}"#.to_owned(),
                "give each name once, as not \"a\"",
            ),
            (object(33, 2, 1), "give at most 32 headers; these are 33"),
            (
                object(4, 60, 1_024),
                "give at most 4096 bytes of JSON; these are 4361",
            ),
        ] {
            let message = headers(&value).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        for most in [object(32, 64, 56), object(3, 1, 1_024)] {
            assert_eq!(headers(&most).unwrap(), most);
        }
    }

    #[test]
    fn no_value_of_a_header_is_in_an_error() {
        let long = "secret".repeat(171);
        for value in [
            r#""secret""#.to_owned(),
            r#"{"a":"secret","b":1}"#.to_owned(),
            r#"{"":"secret"}"#.to_owned(),
            r#"{"a":"secret","a":"secret"}"#.to_owned(),
            format!(r#"{{"a":"{long}"}}"#),
        ] {
            let message = headers(&value).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
