//! The changes that operators request.

use std::sync::Arc;

use super::RequestNames;
use crate::BulkRequest;

/// A change that an operator requests. The audit contains it with its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminRequest {
    /// Makes a dead task due now.
    Kick {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// Removes a dead task.
    Delete {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// Kicks or removes every task that matches.
    Bulk(Box<BulkRequest>),
    /// Stops the deliveries of a route.
    Pause {
        /// The route.
        route: Arc<str>,
    },
    /// Delivers the tasks of a paused route again.
    Resume {
        /// The route.
        route: Arc<str>,
    },
    /// Ends a bulk operation.
    Stop {
        /// Its number.
        job: u64,
    },
}

impl AdminRequest {
    /// The route and the id in the request, if any.
    #[must_use]
    pub const fn names(&self) -> RequestNames<'_> {
        match self {
            Self::Kick { route, id } | Self::Delete { route, id } => (Some(route), Some(id)),
            Self::Bulk(bulk) => (Some(&bulk.route), None),
            Self::Pause { route } | Self::Resume { route } => (Some(route), None),
            Self::Stop { .. } => (None, None),
        }
    }
}
