use std::{str::FromStr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_delay_client::{Tls, Token};

/// The kind of load, and the time that it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadMode {
    /// Schedules tasks for later. Measures from a schedule to the ack that confirms it is on disk.
    Schedule,
    /// Schedules, delivers and acknowledges tasks. Measures from a schedule to the delivery.
    Deliver,
    /// Tasks fall due at an even rate. Measures from the time a task is due to its delivery.
    Late,
}

/// The parameters of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPlan {
    /// Host and port of the server.
    pub address: String,
    /// Encrypts the connections. Default: they are plain.
    pub tls: Option<Tls>,
    /// The token that the load shows. Default: none.
    pub token: Option<Token>,
    /// The kind of load.
    pub mode: LoadMode,
    /// The number of connections, from 1. Each schedules on a route of its own.
    pub connections: u32,
    /// The maximum number of pending tasks on each connection, from 1. Ignored by
    /// [`LoadMode::Late`].
    pub pipeline: u32,
    /// The number of tasks over all connections.
    pub tasks: u64,
    /// The length of each payload in bytes.
    pub payload_bytes: usize,
    /// The time from scheduling a task until it is due.
    pub delay: Duration,
    /// Tasks that fall due per second over all connections. Used by [`LoadMode::Late`] only.
    pub rate: u32,
    /// Whether to keep the tasks at the end instead of cancelling them. Used by
    /// [`LoadMode::Schedule`] only.
    pub keep: bool,
    /// Whether to request a confirmation of every ack, not only of the last one on each connection.
    pub confirm: bool,
    /// The prefix of routes and ids. Default: random.
    pub name: Option<String>,
}

impl LoadPlan {
    /// Returns the number of tasks of one connection.
    pub(super) fn load(&self, connection: u32) -> u32 {
        let (all, among) = (self.tasks, u64::from(self.connections));
        let load = all / among + u64::from(u64::from(connection) < all % among);
        u32::try_from(load).unwrap_or(u32::MAX)
    }

    /// Returns the payload of all tasks in base64. It is random, so that compression gains nothing.
    pub(super) fn payload(&self) -> String {
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..))
            .take(self.payload_bytes)
            .collect();
        STANDARD.encode(bytes)
    }
}

impl FromStr for LoadMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "schedule" => Ok(Self::Schedule),
            "deliver" => Ok(Self::Deliver),
            "late" => Ok(Self::Late),
            _ => Err(format!(
                "{name} is not a mode: give schedule, deliver or late"
            )),
        }
    }
}
