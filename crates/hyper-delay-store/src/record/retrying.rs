use serde::{Deserialize, Serialize};

use super::Record;

/// The id of a task in the index of retrying tasks. Its key has the route, the due time and the
/// sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryingEntry<'a> {
    /// The id of the task.
    pub id: &'a str,
}

impl<'a> Record<'a> for RetryingEntry<'a> {}
