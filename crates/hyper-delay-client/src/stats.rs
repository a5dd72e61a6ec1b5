use std::future::{Future, IntoFuture};
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::wire::{Reply, Request, or_default};
use crate::{Client, RequestError};

/// How many tasks a server has, by state. Serialized, it has the names of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that are on disk for a time, those in flight too.
    #[serde(deserialize_with = "or_default")]
    pub waiting: u64,
    /// Tasks whose time has come, and that no consumer has room for.
    #[serde(deserialize_with = "or_default")]
    pub parked: u64,
    /// Tasks that a consumer has.
    #[serde(deserialize_with = "or_default")]
    pub in_flight: u64,
    /// Dead letters.
    #[serde(deserialize_with = "or_default")]
    pub dead: u64,
    /// Connections, this one too.
    #[serde(deserialize_with = "or_default")]
    pub connections: u64,
    /// Acks and nacks that were of no delivery the server knew.
    #[serde(deserialize_with = "or_default")]
    pub unknown_acks: u64,
    /// The same by route, in order of name, as far as one answer goes.
    #[serde(deserialize_with = "or_default")]
    pub routes: Vec<RouteStats>,
    /// Whether there are further routes: ask for those [`after`](StatsQuery::after) the last.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
}

/// How many tasks a route has, by state. Serialized, it has the names of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RouteStats {
    /// The route.
    #[serde(rename = "route_key", deserialize_with = "or_default")]
    pub route: String,
    /// Tasks that are on disk for a time, those in flight too.
    #[serde(deserialize_with = "or_default")]
    pub waiting: u64,
    /// Tasks whose time has come, and that no consumer has room for.
    #[serde(deserialize_with = "or_default")]
    pub parked: u64,
    /// Tasks that a consumer has.
    #[serde(deserialize_with = "or_default")]
    pub in_flight: u64,
    /// Dead letters.
    #[serde(deserialize_with = "or_default")]
    pub dead: u64,
    /// Connections that have registered the route.
    #[serde(deserialize_with = "or_default")]
    pub consumers: u64,
}

impl Reply for Stats {
    const KIND: &'static str = "stats";
}

/// A question for [`Stats`]: `.await` asks it. See [`Client::stats`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked until it is awaited"]
pub struct StatsQuery {
    client: Client,
    route: Option<String>,
    after: Option<String>,
}

impl StatsQuery {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            route: None,
            after: None,
        }
    }

    /// Only this route.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Only routes whose names come after this one.
    pub fn after(mut self, route: impl Into<String>) -> Self {
        self.after = Some(route.into());
        self
    }

    async fn ask(self) -> Result<Stats, RequestError> {
        let request = Request {
            route_key: self.route.as_deref(),
            after: self.after.as_deref(),
            ..Request::of("stats")
        };
        self.client.ask(request).await
    }
}

/// # Cancel safety
///
/// Dropping it forgets the answer.
impl IntoFuture for StatsQuery {
    type Output = Result<Stats, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
