use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::query::asked_by_await;
use crate::wire::{Reply, Request, or_default};
use crate::{Client, Content, LastFailure, RequestError, bulk::Filter, time};

/// Dead letters of a route, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DeadLetters {
    /// The tasks, as many as fit into one reply.
    #[serde(deserialize_with = "or_default")]
    pub tasks: Vec<DeadLetter>,
    /// Whether there are more: ask for those [`after`](DeadQuery::after) `next`, or after the last
    /// id if `next` is `None`.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
    /// The id of the last task that the server looked at, if it does not match and is not in the
    /// list.
    pub next: Option<String>,
}

impl DeadLetters {
    /// The id after which the next page begins. `None` if there is none.
    #[must_use]
    pub fn next_after(&self) -> Option<&str> {
        let last = || self.tasks.last().map(|last| last.id.as_str());
        self.next.as_deref().or_else(last).filter(|_| self.more)
    }
}

/// A task that failed as often as the server allows, or whose content cannot be read, or that is
/// orphaned. [`Client::kick`] revives a dead task. Serialized with the field names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The task's name within its route.
    pub id: String,
    /// The scheduled time in Unix milliseconds.
    #[serde(rename = "fire_at")]
    pub fire_at_millis: u64,
    /// The number of its last round; 0 if there was none.
    pub attempt: u64,
    /// The time it died in Unix milliseconds; 0 if it is not dead but orphaned.
    #[serde(rename = "died_at")]
    pub died_at_millis: u64,
    /// Why it died, if that is known: its content cannot be read, or a consumer gave a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its last failure, if the server has stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// Whether the server made the task's route, and no connection has it registered.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub orphaned: bool,
    /// The content, if it was asked for and can be read.
    #[serde(flatten)]
    pub content: Content,
}

impl DeadLetter {
    /// The time it died; `None` if it is not dead, or if the system's clock cannot represent the
    /// time.
    #[must_use]
    pub fn died_at(&self) -> Option<SystemTime> {
        let died = Some(self.died_at_millis).filter(|millis| *millis > 0);
        died.and_then(time::from_millis)
    }
}

impl Reply for DeadLetters {
    const KINDS: &'static [&'static str] = &["dead"];
}

/// The reply to a kick.
#[derive(Debug, Deserialize)]
pub(crate) struct Kicked {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) found: bool,
}

impl Reply for Kicked {
    const KINDS: &'static [&'static str] = &["kicked"];
}

/// A request for [`DeadLetters`]: `.await` sends it. See [`Client::dead`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
pub struct DeadQuery {
    client: Client,
    route: String,
    limit: Option<u16>,
    after: Option<String>,
    filter: Filter,
    payload: bool,
}

impl DeadQuery {
    pub(crate) fn new(client: Client, route: String) -> Self {
        Self {
            client,
            route,
            limit: None,
            after: None,
            filter: Filter::default(),
            payload: false,
        }
    }

    /// Sets the maximum number of tasks, 1 to 1,000. Default: 100.
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Requests only tasks after this id.
    pub fn after(mut self, id: impl Into<String>) -> Self {
        self.after = Some(id.into());
        self
    }

    /// Requests only tasks with exactly this reason; with an empty one, those without a reason.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.filter.reason = Some(reason.into());
        self
    }

    /// Requests only tasks that died at this time or later, in Unix milliseconds.
    pub fn from_millis(mut self, from: u64) -> Self {
        self.filter.from = Some(from);
        self
    }

    /// Requests only tasks that died before this time, in Unix milliseconds.
    pub fn until_millis(mut self, until: u64) -> Self {
        self.filter.until = Some(until);
        self
    }

    /// Requests the payloads, too. Default: false.
    pub fn payload(mut self, payload: bool) -> Self {
        self.payload = payload;
        self
    }

    async fn ask(self) -> Result<DeadLetters, RequestError> {
        let request = Request {
            route_key: Some(&self.route),
            limit: self.limit,
            after: self.after.as_deref(),
            with_payload: self.payload.then_some(true),
            ..self.filter.request("dead")
        };
        self.client.ask(request).await
    }
}

asked_by_await!(DeadQuery, DeadLetters);
