use serde::{Deserialize, Serialize};

use crate::query::asked_by_await;
use crate::wire::{Reply, Request, or_default};
use crate::{Client, RequestError};

/// The number of tasks of a server, by state. Serialized with the field names of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks on disk for a later time. Includes tasks in flight.
    #[serde(deserialize_with = "or_default")]
    pub waiting: u64,
    /// Tasks that are due and have no consumer with room.
    #[serde(deserialize_with = "or_default")]
    pub parked: u64,
    /// Tasks that a consumer has now.
    #[serde(deserialize_with = "or_default")]
    pub in_flight: u64,
    /// Dead letters.
    #[serde(deserialize_with = "or_default")]
    pub dead: u64,
    /// Waiting and parked tasks that have a last failure. Includes tasks in flight. 0 if the server is
    /// of version 0.3 or older.
    #[serde(deserialize_with = "or_default")]
    pub retrying: u64,
    /// Open connections, including this one.
    #[serde(deserialize_with = "or_default")]
    pub connections: u64,
    /// Acks and nacks without a matching delivery.
    #[serde(deserialize_with = "or_default")]
    pub unknown_acks: u64,
    /// Tasks on routes that the server made and that no connection has registered. No consumer
    /// receives them.
    #[serde(deserialize_with = "or_default")]
    pub orphaned: u64,
    /// The counts of each route, in order of name, as many as fit into one reply.
    #[serde(deserialize_with = "or_default")]
    pub routes: Vec<RouteStats>,
    /// Whether there are more routes: ask for those [`after`](StatsQuery::after) the last one.
    #[serde(deserialize_with = "or_default")]
    pub more: bool,
}

/// The number of tasks of a route, by state. Serialized with the field names of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RouteStats {
    /// The route.
    #[serde(rename = "route_key", deserialize_with = "or_default")]
    pub route: String,
    /// Tasks on disk for a later time. Includes tasks in flight.
    #[serde(deserialize_with = "or_default")]
    pub waiting: u64,
    /// Tasks that are due and have no consumer with room.
    #[serde(deserialize_with = "or_default")]
    pub parked: u64,
    /// Tasks that a consumer has now.
    #[serde(deserialize_with = "or_default")]
    pub in_flight: u64,
    /// Dead letters.
    #[serde(deserialize_with = "or_default")]
    pub dead: u64,
    /// Waiting and parked tasks that have a last failure. Includes tasks in flight. 0 if the server is
    /// of version 0.3 or older.
    #[serde(deserialize_with = "or_default")]
    pub retrying: u64,
    /// Connections that have registered the route.
    #[serde(deserialize_with = "or_default")]
    pub consumers: u64,
    /// Whether the server made the route, and no connection has it registered.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub orphaned: bool,
    /// Whether the route is paused: none of its tasks are delivered.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub paused: bool,
}

impl Reply for Stats {
    const KINDS: &'static [&'static str] = &["stats"];
}

/// A request for [`Stats`]: `.await` sends it. See [`Client::stats`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
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

    /// Requests only this route.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Requests only routes after this one in order of name.
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

asked_by_await!(StatsQuery, Stats);
