use std::time::SystemTime;

use serde::Deserialize;

use crate::time;
use crate::wire::{Reply, or_default};

/// A task is on disk: it will be delivered until it is acknowledged, cancelled or dead.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The task's name within its route.
    pub id: String,
    /// Its route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// When it is due, in milliseconds since the beginning of 1970 (UTC).
    #[serde(rename = "fire_at")]
    pub fire_at_millis: u64,
}

impl Receipt {
    /// When the task is due; `None` if the system's clock cannot name it.
    #[must_use]
    pub fn fire_at(&self) -> Option<SystemTime> {
        time::from_millis(self.fire_at_millis)
    }
}

impl Reply for Receipt {
    const KIND: &'static str = "ack";
}

/// What [`cancel`](crate::Client::cancel) found. The task is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Cancelled {
    /// Whether there was such a task; one that is done counts as none.
    #[serde(default, deserialize_with = "or_default")]
    pub found: bool,
    /// Whether a consumer has it at this moment. Its ack will remove nothing.
    #[serde(default, deserialize_with = "or_default")]
    pub in_flight: bool,
}

impl Reply for Cancelled {
    const KIND: &'static str = "cancelled";
}

/// The answer to a ping.
#[derive(Debug, Deserialize)]
pub(crate) struct Pong {}

impl Reply for Pong {
    const KIND: &'static str = "pong";
}

/// The answer to an ack that is to be confirmed.
#[derive(Debug, Deserialize)]
pub(crate) struct Acked {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) removed: bool,
}

impl Reply for Acked {
    const KIND: &'static str = "acked";
}
