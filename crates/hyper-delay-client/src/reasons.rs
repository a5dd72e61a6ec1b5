use serde::{Deserialize, Serialize};

use crate::query::asked_by_await;
use crate::wire::{Reply, Request, or_default};
use crate::{Client, FailureKind, RequestError, TaskState};

/// The numbers of dead letters, or of retrying tasks, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Reasons {
    /// The numbers.
    #[serde(deserialize_with = "or_default")]
    pub reasons: Vec<Reason>,
    /// The cursor of what is not counted yet: ask for what is [`after`](ReasonsQuery::after) it.
    /// `None` at the end.
    pub next: Option<String>,
}

/// The number of dead letters, or of retrying tasks, with the same reason. Serialized with the field names of the
/// protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// Their route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// Their reason; empty if they have none.
    pub reason: String,
    /// How the last round of these retrying tasks has failed. `None`: they are dead letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
    /// How many there are.
    pub tasks: u64,
}

impl Reply for Reasons {
    const KINDS: &'static [&'static str] = &["reasons"];
}

/// A request for [`Reasons`]: `.await` sends it. See [`Client::reasons`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
pub struct ReasonsQuery {
    client: Client,
    route: Option<String>,
    state: Option<TaskState>,
    after: Option<String>,
}

impl ReasonsQuery {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            route: None,
            state: None,
            after: None,
        }
    }

    /// Counts only tasks of this route.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Counts dead or retrying tasks. Retrying ones need a server of version 0.4. Default: dead.
    pub fn state(mut self, state: TaskState) -> Self {
        self.state = Some(state);
        self
    }

    /// Counts only what is after this cursor.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    async fn ask(self) -> Result<Reasons, RequestError> {
        let request = Request {
            route_key: self.route.as_deref(),
            state: self.state.as_ref().map(TaskState::as_str),
            after: self.after.as_deref(),
            ..Request::of("reasons")
        };
        self.client.ask(request).await
    }
}

asked_by_await!(ReasonsQuery, Reasons);
