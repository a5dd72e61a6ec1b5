use serde::{Deserialize, Serialize};

/// A task as it is listed in a space that is ordered by time: everything but its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry<'a> {
    /// The route of the task.
    pub route: &'a str,
    /// The id of the task.
    pub id: &'a str,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// Number of rounds that failed since the task was scheduled, replaced or kicked.
    pub failures: u32,
}
