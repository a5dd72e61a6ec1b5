//! Errors that a client receives.

use std::sync::Arc;

/// An error reply. The connection stays open, and the request has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Refusal {
    /// The kind of error, for programs.
    pub code: Code,
    /// The value and the cure, for people.
    pub message: String,
    /// The `id` of the line, if it could be read.
    pub id: Option<Arc<str>>,
    /// The `route_key` of the line, if it could be read.
    pub route: Option<Arc<str>>,
    /// The `tag` of the line, if it could be read.
    pub tag: Option<Arc<str>>,
    /// The number of the line on its connection, counted from 1, if nothing of it could be read.
    pub line: Option<u64>,
}

impl Refusal {
    /// A refusal without id, route, tag and line.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
            route: None,
            tag: None,
            line: None,
        }
    }

    /// Names line `number` of the connection if nothing of that line could be read. Other refusals
    /// carry the id, the route and the tag of the line instead.
    #[must_use]
    pub fn at_line(mut self, number: u64) -> Self {
        if matches!(self.code, Code::BadJson | Code::BadUtf8 | Code::LineTooLong) {
            self.line = Some(number);
        }
        self
    }
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Code {
    /// The line is not one JSON object, or has a field twice.
    BadJson,
    /// The line is not UTF-8.
    BadUtf8,
    /// The payload is not base64.
    BadBase64,
    /// A field has the wrong type, length or value.
    BadField,
    /// A required field is absent.
    MissingField,
    /// The request does not exist.
    UnknownKind,
    /// The line was longer than `max_line_bytes`.
    LineTooLong,
    /// The delivery of the task would be longer than `max_line_bytes`.
    TooLong,
    /// Another task with other content has the same route and id.
    DuplicateId,
    /// The disk has no room for new tasks. Deliveries and acks continue.
    DiskFull,
    /// The requested data cannot be read, because files of the store are damaged.
    Damaged,
    /// The server is shutting down.
    ShuttingDown,
    /// The server already has `max_connections` connections.
    TooManyConnections,
    /// The connection has as many routes as one connection may have.
    TooManyRoutes,
    /// The connection may not send this request.
    Forbidden,
    /// The server is making as many backups as it may.
    Busy,
    /// The server accepts only TLS, and the connection began without. It is closed.
    TlsRequired,
    /// The route or the token has as much as it may.
    Quota,
    /// It is not known whether the request took effect, because a node of the cluster has failed:
    /// send it again with the same id.
    Unavailable,
    /// The task is dead: `kick` makes it due again.
    Dead,
}

impl Code {
    /// All codes, in the order of their declaration.
    pub const ALL: [Self; 20] = [
        Self::BadJson,
        Self::BadUtf8,
        Self::BadBase64,
        Self::BadField,
        Self::MissingField,
        Self::UnknownKind,
        Self::LineTooLong,
        Self::TooLong,
        Self::DuplicateId,
        Self::DiskFull,
        Self::Damaged,
        Self::ShuttingDown,
        Self::TooManyConnections,
        Self::TooManyRoutes,
        Self::Forbidden,
        Self::Busy,
        Self::TlsRequired,
        Self::Quota,
        Self::Unavailable,
        Self::Dead,
    ];

    /// The code on the wire.
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
        }
    }
}

#[cfg(test)]
mod tests;
