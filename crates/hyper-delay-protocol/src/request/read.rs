//! The queries of clients.

use std::sync::Arc;

use super::RequestNames;
use crate::{BulkRequest, Filter, ListRequest, TaskState};

/// A query, which changes nothing. The answer comes from the disk, from the scheduler, or from both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadRequest {
    /// Asks for counts by state and route.
    Stats {
        /// Only this route.
        route: Option<Arc<str>>,
        /// Only routes after this one in order of name.
        after: Option<Arc<str>>,
    },
    /// Asks for the dead letters of a route.
    Dead {
        /// The route.
        route: Arc<str>,
        /// Only those after this id.
        after: Option<Arc<str>>,
        /// The maximum number of tasks, 1 to 1,000.
        limit: u16,
        /// Only these.
        filter: Box<Filter>,
        /// Whether the reply has the payloads.
        payload: bool,
    },
    /// Asks for one task.
    Get {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// Whether the reply has the payload.
        payload: bool,
    },
    /// Asks for tasks in order of time.
    List(Box<ListRequest>),
    /// Asks for the number of waiting tasks for the minutes, hours and days ahead.
    Future,
    /// Asks for the bulk operations.
    Jobs,
    /// Asks for the audit.
    Audit {
        /// Only lines with lower numbers.
        before: Option<u64>,
        /// The maximum number of lines, 1 to 1,000.
        limit: u16,
    },
    /// Asks for the numbers of dead letters, or of retrying tasks, by reason.
    Reasons {
        /// Only those of this route.
        route: Option<Arc<str>>,
        /// Dead or retrying.
        state: TaskState,
        /// The cursor of the reply before.
        after: Option<Arc<str>>,
    },
    /// Asks how many tasks a bulk operation would change. On the wire it is one with `dry_run`.
    Count(Box<BulkRequest>),
    /// Asks for a piece of a backup.
    Backup {
        /// The position of its first byte. 0 begins a backup; otherwise the end of the piece before
        /// on this connection.
        offset: u64,
    },
}

impl ReadRequest {
    /// The route and the id in the request, if any.
    #[must_use]
    pub const fn names(&self) -> RequestNames<'_> {
        match self {
            Self::Dead { route, .. } => (Some(route), None),
            Self::Get { route, id, .. } => (Some(route), Some(id)),
            Self::Stats { route, .. } | Self::Reasons { route, .. } => (route.as_ref(), None),
            Self::List(list) => (list.route.as_ref(), None),
            Self::Count(bulk) => (Some(&bulk.route), None),
            Self::Future | Self::Jobs | Self::Audit { .. } | Self::Backup { .. } => (None, None),
        }
    }
}
