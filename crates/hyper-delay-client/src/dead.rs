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
    /// The tasks, as far as one answer goes.
    #[serde(deserialize_with = "or_default")]
    pub tasks: Vec<DeadLetter>,
    /// Whether there are further ones: ask for those [`after`](DeadQuery::after) the last id.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
}

/// A task that has failed as often as the server allows. [`Client::kick`] revives it.
/// Serialized, it has the names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The task's name within its route.
    pub id: String,
    /// When it was due, in milliseconds since the beginning of 1970 (UTC).
    #[serde(rename = "fire_at")]
    pub fire_at_millis: u64,
    /// Its last attempt.
    pub attempt: u64,
    /// When it died, in milliseconds since the beginning of 1970 (UTC).
    #[serde(rename = "died_at")]
    pub died_at_millis: u64,
}

impl DeadLetter {
    /// When it died; `None` if the system's clock cannot name it.
    #[must_use]
    pub fn died_at(&self) -> Option<SystemTime> {
        time::from_millis(self.died_at_millis)
    }
}

impl Reply for DeadLetters {
    const KIND: &'static str = "dead";
}

/// The answer to a kick.
#[derive(Debug, Deserialize)]
pub(crate) struct Kicked {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) found: bool,
}

impl Reply for Kicked {
    const KIND: &'static str = "kicked";
}

/// A question for [`DeadLetters`]: `.await` asks it. See [`Client::dead`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked until it is awaited"]
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

    /// At most so many: 1 to 1,000. By default the server's, 100.
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only those that come after this one.
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
/// Dropping it forgets the answer.
impl IntoFuture for DeadQuery {
    type Output = Result<DeadLetters, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
