//! Why a request is refused.

use std::sync::Arc;

/// An error as it is told to the client. The connection stays open, and nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct Refusal {
    /// What kind of error, for programs.
    pub code: Code,
    /// The value and the cure, for people.
    pub message: String,
    /// The `id` of the line, if it could be read.
    pub id: Option<Arc<str>>,
    /// The `route_key` of the line, if it could be read.
    pub route: Option<Arc<str>>,
    /// The `tag` of the line, if it could be read.
    pub tag: Option<Arc<str>>,
}

impl Refusal {
    /// One that names no task and has no tag.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
            route: None,
            tag: None,
        }
    }
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The line is not one JSON object, or names a field twice.
    BadJson,
    /// The line is not UTF-8.
    BadUtf8,
    /// The payload is not base64.
    BadBase64,
    /// A field has the wrong type, length or value.
    BadField,
    /// A required field is absent.
    MissingField,
    /// No such request.
    UnknownKind,
    /// The line was longer than `max_line_bytes`.
    LineTooLong,
    /// The delivery of this task would not fit into a line.
    TooLong,
    /// The name is taken by a task with other content.
    DuplicateId,
    /// The disk has no room for a new task.
    DiskFull,
    /// The server is about to end.
    ShuttingDown,
    /// The server has `max_connections` already.
    TooManyConnections,
}

impl Code {
    /// The code as it is on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
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
            Self::ShuttingDown => "shutting_down",
            Self::TooManyConnections => "too_many_connections",
        }
    }
}

#[cfg(test)]
mod tests;
