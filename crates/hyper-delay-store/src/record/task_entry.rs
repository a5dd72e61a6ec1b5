use serde::{Deserialize, Serialize};

use super::{
    Name, Record, tagged_fields,
    terms::{append_terms, take_terms},
};
use crate::StoreError;
use hyper_delay_protocol::Terms;

/// A task as it is listed in a space that is ordered by time: everything but its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEntry<'a> {
    /// The route of the task.
    pub route: &'a str,
    /// The id of the task.
    pub id: &'a str,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// Number of rounds that failed since the task was scheduled, replaced or kicked.
    pub failures: u32,
    /// The terms of the task, which replace the settings.
    #[serde(skip)]
    pub terms: Option<Box<Terms>>,
}

impl<'a> TaskEntry<'a> {
    /// Returns the entry of a task in this state.
    #[must_use]
    pub fn of(route: &'a str, id: &'a str, name: &Name) -> Self {
        Self {
            route,
            id,
            attempt: name.attempt,
            failures: name.failures,
            terms: name.terms.clone(),
        }
    }
}

impl<'a> Record<'a> for TaskEntry<'a> {
    fn has_extension(&self) -> bool {
        self.terms.is_some()
    }

    fn extension(&self, bytes: Vec<u8>) -> Vec<u8> {
        append_terms(self.terms.as_deref(), bytes)
    }

    fn extend(&mut self, extension: &'a [u8]) -> Result<&'a [u8], StoreError> {
        let (terms, rest) = take_terms(extension)?;
        self.terms = terms;
        Ok(rest)
    }

    fn set_tagged_field(&mut self, tag: u32, value: &'a [u8]) -> Result<bool, StoreError> {
        tagged_fields::set_terms(tag, value, &mut self.terms)
    }
}
