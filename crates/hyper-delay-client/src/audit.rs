use serde::{Deserialize, Serialize};

use crate::query::asked_by_await;
use crate::wire::{Reply, Request, or_default};
use crate::{Client, RequestError, TaskState};

/// What operators did, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Audit {
    /// The lines, as many as fit into one reply.
    #[serde(deserialize_with = "or_default")]
    pub lines: Vec<AuditLine>,
    /// Whether there are older lines: ask for those [`before`](AuditQuery::before) the last one.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
}

/// A line of the audit. Serialized with the field names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it was done, in Unix milliseconds.
    #[serde(rename = "at")]
    pub at_millis: u64,
    /// What was done: the kind of the request, or how a bulk operation ended.
    pub act: String,
    /// The route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// The task, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The number of the bulk operation, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// Number of tasks that the bulk operation has changed, at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// The bulk operation is for dead letters, or retrying tasks, with this reason; an empty one
    /// means those without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The bulk operation is for dead letters from this time on, in Unix milliseconds.
    #[serde(rename = "from", default, skip_serializing_if = "Option::is_none")]
    pub from_millis: Option<u64>,
    /// The bulk operation is for dead letters before this time, in Unix milliseconds.
    #[serde(rename = "until", default, skip_serializing_if = "Option::is_none")]
    pub until_millis: Option<u64>,
    /// The bulk operation moves tasks in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_state: Option<TaskState>,
    /// The time that the bulk operation moves tasks to, in Unix milliseconds.
    #[serde(rename = "due", default, skip_serializing_if = "Option::is_none")]
    pub due_millis: Option<u64>,
    /// By how many milliseconds the bulk operation moves tasks.
    #[serde(rename = "shift_ms", default, skip_serializing_if = "Option::is_none")]
    pub shift_millis: Option<u64>,
    /// Whether the bulk operation removes tasks in flight, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
    /// The name of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The address of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Reply for Audit {
    const KINDS: &'static [&'static str] = &["audit"];
}

/// A request for an [`Audit`]: `.await` sends it. See [`Client::audit`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
pub struct AuditQuery {
    client: Client,
    before: Option<u64>,
    limit: Option<u16>,
}

impl AuditQuery {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            before: None,
            limit: None,
        }
    }

    /// Requests only lines with lower numbers.
    pub fn before(mut self, number: u64) -> Self {
        self.before = Some(number);
        self
    }

    /// Sets the maximum number of lines, 1 to 1,000. Default: 100.
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    async fn ask(self) -> Result<Audit, RequestError> {
        let request = Request {
            before: self.before,
            limit: self.limit,
            ..Request::of("audit")
        };
        self.client.ask(request).await
    }
}

asked_by_await!(AuditQuery, Audit);
