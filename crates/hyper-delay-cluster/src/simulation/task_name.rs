//! The names of the tasks of a history.

use std::{fmt, sync::Arc};

use hyper_delay_engine::ledger::TaskRevision;
use hyper_delay_store::record::key;

/// The route and the id of a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskName {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
}

impl TaskName {
    pub(super) fn of(revision: &TaskRevision) -> Self {
        Self {
            route: revision.route.clone(),
            id: revision.id.clone(),
        }
    }

    /// Returns whether this is the key of its state.
    pub(super) fn has_key(&self, name: &[u8]) -> bool {
        key::name_of(name) == Some((&*self.route, &*self.id))
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.id, self.route)
    }
}
