use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Record;
use crate::protocol::AuditRow;

/// What an operator did, stored in a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it was done, in Unix milliseconds.
    pub at: u64,
    /// What was done.
    pub act: Box<str>,
    /// The route.
    pub route: Box<str>,
    /// The task, if it was one.
    pub id: Option<Box<str>>,
    /// The bulk operation, if it is about one.
    pub job: Option<u64>,
    /// Number of tasks that a bulk operation changed, at its end.
    pub tasks: Option<u64>,
    /// The name of the token.
    pub by: Option<Box<str>>,
    /// The address of the connection.
    pub address: Option<Box<str>>,
}

impl Record<'_> for AuditLine {}

impl AuditLine {
    /// How many lines are kept.
    pub(crate) const KEPT: u64 = 1_000;

    /// Returns it as operators see it.
    #[must_use]
    pub(crate) fn row(&self) -> AuditRow {
        AuditRow {
            number: self.number,
            at: self.at,
            act: (&*self.act).into(),
            route: (&*self.route).into(),
            id: self.id.as_deref().map(Arc::from),
            job: self.job,
            tasks: self.tasks,
            by: self.by.as_deref().map(Arc::from),
            address: self.address.as_deref().map(Arc::from),
        }
    }
}
