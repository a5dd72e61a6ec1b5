use std::fmt;

use serde::Deserialize;
use thiserror::Error;

use crate::wire::or_default;

/// The server has refused a request, and has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error, Deserialize)]
#[error("refused ({code}): {message}")]
#[non_exhaustive]
pub struct Refusal {
    /// Why, for programs.
    #[serde(default, deserialize_with = "or_default")]
    pub code: Code,
    /// Why, for people: it names the value and the cure.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

/// Why the server has refused a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Code {
    /// The line was not one JSON object.
    BadJson,
    /// The line was not UTF-8.
    BadUtf8,
    /// The payload was not base64.
    BadBase64,
    /// A field has the wrong type, length or value.
    BadField,
    /// A field that is required is absent.
    MissingField,
    /// The server does not know such requests.
    UnknownKind,
    /// The line was longer than the server's `max_line_bytes`.
    LineTooLong,
    /// The delivery of this task would not fit into a line.
    TooLong,
    /// The name is taken by a task with other content.
    DuplicateId,
    /// The server is about to end.
    ShuttingDown,
    /// The server has as many connections as it allows.
    TooManyConnections,
    /// One that a newer server knows.
    Unknown(String),
}

impl Code {
    /// As the protocol has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::BadJson => "bad_json",
            Self::BadUtf8 => "bad_utf8",
            Self::BadBase64 => "bad_base64",
            Self::BadField => "bad_field",
            Self::MissingField => "missing_field",
            Self::UnknownKind => "unknown_kind",
            Self::LineTooLong => "line_too_long",
            Self::TooLong => "too_long",
            Self::DuplicateId => "duplicate_id",
            Self::ShuttingDown => "shutting_down",
            Self::TooManyConnections => "too_many_connections",
            Self::Unknown(code) => code,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Default for Code {
    fn default() -> Self {
        Self::Unknown(String::new())
    }
}

impl From<String> for Code {
    fn from(code: String) -> Self {
        match code.as_str() {
            "bad_json" => Self::BadJson,
            "bad_utf8" => Self::BadUtf8,
            "bad_base64" => Self::BadBase64,
            "bad_field" => Self::BadField,
            "missing_field" => Self::MissingField,
            "unknown_kind" => Self::UnknownKind,
            "line_too_long" => Self::LineTooLong,
            "too_long" => Self::TooLong,
            "duplicate_id" => Self::DuplicateId,
            "shutting_down" => Self::ShuttingDown,
            "too_many_connections" => Self::TooManyConnections,
            _ => Self::Unknown(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Refusal};

    #[test]
    fn a_code_is_written_as_it_is_read() {
        for name in [
            "bad_json",
            "too_long",
            "too_many_connections",
            "one_to_come",
        ] {
            assert_eq!(Code::from(name.to_owned()).as_str(), name);
        }
    }

    #[test]
    fn an_error_line_says_why() {
        let line = r#"{"kind":"error","code":"duplicate_id","message":"take another","id":null}"#;
        let refusal: Refusal = serde_json::from_str(line).unwrap();
        assert_eq!(refusal.to_string(), "refused (duplicate_id): take another");
    }
}
