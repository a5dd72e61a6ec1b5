//! The requests of clients, by what carries them out.

mod admin;
mod read;
mod session;
mod task;

use std::sync::Arc;

pub use admin::AdminRequest;
pub use read::ReadRequest;
pub use session::SessionRequest;
pub use task::{DeliverySelector, MoveTo, RegisterMode, Schedule, TaskRequest};

use super::Credential;

/// The route and the id in a request, if any.
pub type RequestNames<'a> = (Option<&'a Arc<str>>, Option<&'a Arc<str>>);

/// A parsed line of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The reply or the error carries the same tag. 0 to 128 bytes.
    pub tag: Option<Arc<str>>,
    /// The token of an `auth`, or of a `register` or a `schedule` that has one for itself.
    pub token: Option<Box<Credential>>,
    /// The request.
    pub request: Request,
}

/// The request of a line, by what carries it out.
///
/// Every route and id is 1 to 128 bytes long. Limits that depend on the configuration or on the
/// time are checked later: `max_delay_days` and `max_line_bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The connection answers it.
    Session(SessionRequest),
    /// The scheduler takes it, in order.
    Task(TaskRequest),
    /// It reads what is stored.
    Read(ReadRequest),
    /// An operator changes something.
    Admin(AdminRequest),
}

impl Request {
    /// The route and the id in the request, if any.
    #[must_use]
    pub const fn names(&self) -> RequestNames<'_> {
        match self {
            Self::Session(_) => (None, None),
            Self::Task(request) => request.names(),
            Self::Read(request) => request.names(),
            Self::Admin(request) => request.names(),
        }
    }
}

impl From<SessionRequest> for Request {
    fn from(request: SessionRequest) -> Self {
        Self::Session(request)
    }
}

impl From<TaskRequest> for Request {
    fn from(request: TaskRequest) -> Self {
        Self::Task(request)
    }
}

impl From<ReadRequest> for Request {
    fn from(request: ReadRequest) -> Self {
        Self::Read(request)
    }
}

impl From<AdminRequest> for Request {
    fn from(request: AdminRequest) -> Self {
        Self::Admin(request)
    }
}
