use serde::{Deserialize, Serialize};

/// What stands at a time: all that is needed to know of a task, but its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<'a> {
    /// Its route.
    pub route: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Rounds so far, over all revisions.
    pub attempt: u32,
    /// Rounds that failed since it was scheduled, replaced or kicked.
    pub failures: u32,
}
