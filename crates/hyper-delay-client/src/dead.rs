use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::wire::{Reply, Request, or_default};
use crate::{Client, RequestError, time};

/// Dead letters of a route, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DeadLetters {
    /// The tasks, as many as fit into one reply.
    #[serde(deserialize_with = "or_default")]
    pub tasks: Vec<DeadLetter>,
    /// Whether there are more: ask for those [`after`](DeadQuery::after) the last id.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
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
    /// Why the content of the task cannot be read. `None` if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the server made the task's route for a connection that is gone.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub orphaned: bool,
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
}

impl DeadQuery {
    pub(crate) fn new(client: Client, route: String) -> Self {
        Self {
            client,
            route,
            limit: None,
            after: None,
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

    async fn ask(self) -> Result<DeadLetters, RequestError> {
        let request = Request {
            route_key: Some(&self.route),
            limit: self.limit,
            after: self.after.as_deref(),
            ..Request::of("dead")
        };
        self.client.ask(request).await
    }
}

/// # Cancel safety
///
/// Dropping the future discards the reply.
impl IntoFuture for DeadQuery {
    type Output = Result<DeadLetters, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
