use std::time::SystemTime;

use serde::Deserialize;

use crate::time;
use crate::wire::{Reply, or_default};

/// The proof that a task is on disk: it is delivered until it is acknowledged, cancelled,
/// expired or dead.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The task's name within its route.
    pub id: String,
    /// Its route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// The time it is due in Unix milliseconds.
    #[serde(rename = "fire_at")]
    pub fire_at_millis: u64,
}

impl Receipt {
    /// The time the task is due; `None` if the system's clock cannot represent it.
    #[must_use]
    pub fn fire_at(&self) -> Option<SystemTime> {
        time::from_millis(self.fire_at_millis)
    }
}

impl Reply for Receipt {
    /// `ack` in protocol 1.
    const KINDS: &'static [&'static str] = &["scheduled", "ack"];
}

/// The result of [`cancel`](crate::Client::cancel). The task is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Cancelled {
    /// Whether the task existed. A task that is done does not count.
    #[serde(default, deserialize_with = "or_default")]
    pub found: bool,
    /// Whether a consumer may have the task now. Its ack will remove nothing. If false, no copy of
    /// the task is delivered after this reply.
    #[serde(default, deserialize_with = "or_default")]
    pub in_flight: bool,
}

impl Reply for Cancelled {
    const KINDS: &'static [&'static str] = &["cancelled"];
}

/// The result of [`run_now`](crate::Client::run_now) and [`reschedule`](crate::Client::reschedule).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Moved {
    /// Whether the task exists. A task that is done does not count.
    #[serde(default, deserialize_with = "or_default")]
    pub found: bool,
    /// Whether it was moved. If not, it does not exist, or a consumer has it now.
    #[serde(default, deserialize_with = "or_default")]
    pub moved: bool,
    /// When it is due now, if it was moved, in Unix milliseconds.
    #[serde(rename = "due", default)]
    pub due_millis: Option<u64>,
}

impl Moved {
    /// When the task is due now. `None` if it was not moved, or if the system's clock cannot
    /// represent the time.
    #[must_use]
    pub fn due(&self) -> Option<SystemTime> {
        time::from_millis(self.due_millis?)
    }
}

impl Reply for Moved {
    const KINDS: &'static [&'static str] = &["moved"];
}

/// The reply to a ping.
#[derive(Debug, Deserialize)]
pub(crate) struct Pong {}

impl Reply for Pong {
    const KINDS: &'static [&'static str] = &["pong"];
}

/// The reply to a confirmed ack.
#[derive(Debug, Deserialize)]
pub(crate) struct Acked {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) removed: bool,
}

impl Reply for Acked {
    const KINDS: &'static [&'static str] = &["acked"];
}

/// The reply to a touch.
#[derive(Debug, Deserialize)]
pub(crate) struct Touched {
    /// Absent if there is no such delivery any more.
    #[serde(default)]
    pub(crate) deadline: Option<u64>,
}

impl Reply for Touched {
    const KINDS: &'static [&'static str] = &["touched"];
}
