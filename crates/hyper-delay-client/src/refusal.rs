use std::fmt;

use serde::Deserialize;
use thiserror::Error;

use crate::wire::or_default;

/// An error reply of the server. The request has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error, Deserialize)]
#[error("refused ({code}): {message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The kind of error, for programs.
    #[serde(default, deserialize_with = "or_default")]
    pub code: Code,
    /// The value and the cure, for people.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// The task that the refused line names, if it does.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) id: Option<Box<str>>,
    /// The route that the refused line names, if it does.
    #[serde(rename = "route_key", default, deserialize_with = "or_default")]
    pub(crate) route: Option<Box<str>>,
    /// The number of the line on its connection, if the server could not read the line.
    #[serde(default)]
    pub(crate) line: Option<u64>,
}

/// The kinds of errors of the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Code {
    /// The line is not one JSON object.
    BadJson,
    /// The line is not UTF-8.
    BadUtf8,
    /// The payload is not base64.
    BadBase64,
    /// A field has the wrong type, length or value.
    BadField,
    /// A required field is absent.
    MissingField,
    /// The server does not know this kind of request.
    UnknownKind,
    /// The line was longer than the server's `max_line_bytes`.
    LineTooLong,
    /// The delivery of the task would be longer than the server's `max_line_bytes`.
    TooLong,
    /// Another task with other content has the same route and id.
    DuplicateId,
    /// The server's disk has no room for new tasks. Deliveries and acks continue; send it again
    /// later.
    DiskFull,
    /// What was asked for cannot be read, because files of the server's store are damaged.
    Damaged,
    /// The server is shutting down.
    ShuttingDown,
    /// The server has as many connections as it allows.
    TooManyConnections,
    /// The connection has as many routes as the server allows.
    TooManyRoutes,
    /// The connection may not send this request.
    Forbidden,
    /// The server is making as many backups as it may.
    Busy,
    /// The server accepts only TLS, and the connection began without.
    TlsRequired,
    /// The route or the token has as much as it may.
    Quota,
    /// A node of a cluster has failed, and it is not known whether the request took effect: send it
    /// again with the same id.
    Unavailable,
    /// The task is dead, so it cannot be moved: [kick](crate::Client::kick) it.
    Dead,
    /// A code of a newer server.
    Unknown(String),
}

impl Code {
    /// The code on the wire.
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
            Self::DiskFull => "disk_full",
            Self::Damaged => "damaged",
            Self::ShuttingDown => "shutting_down",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyRoutes => "too_many_routes",
            Self::Forbidden => "forbidden",
            Self::Busy => "busy",
            Self::TlsRequired => "tls_required",
            Self::Quota => "quota",
            Self::Unavailable => "unavailable",
            Self::Dead => "dead",
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
            "disk_full" => Self::DiskFull,
            "damaged" => Self::Damaged,
            "shutting_down" => Self::ShuttingDown,
            "too_many_connections" => Self::TooManyConnections,
            "too_many_routes" => Self::TooManyRoutes,
            "forbidden" => Self::Forbidden,
            "busy" => Self::Busy,
            "tls_required" => Self::TlsRequired,
            "quota" => Self::Quota,
            "unavailable" => Self::Unavailable,
            "dead" => Self::Dead,
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
            "too_many_routes",
            "forbidden",
            "busy",
            "tls_required",
            "quota",
            "unavailable",
            "disk_full",
            "damaged",
        ] {
            let code = Code::from(name.to_owned());
            assert_eq!(code.as_str(), name);
            assert!(!matches!(code, Code::Unknown(_)), "{code:?}");
        }
        let newer = Code::from("one_to_come".to_owned());
        assert_eq!(newer, Code::Unknown("one_to_come".to_owned()));
    }

    #[test]
    fn an_error_line_says_why() {
        let line = r#"{"kind":"error","code":"duplicate_id","message":"take another","id":null}"#;
        let refusal: Refusal = serde_json::from_str(line).unwrap();
        assert_eq!(refusal.to_string(), "refused (duplicate_id): take another");
        assert_eq!((refusal.id, refusal.route), (None, None));
    }

    #[test]
    fn an_error_line_names_the_task() {
        let line = r#"{"kind":"error","code":"bad_field","message":"delay_ms is 9","id":"1","route_key":"a"}"#;
        let refusal: Refusal = serde_json::from_str(line).unwrap();
        assert_eq!(refusal.id.as_deref(), Some("1"));
        assert_eq!(refusal.route.as_deref(), Some("a"));
    }
}
