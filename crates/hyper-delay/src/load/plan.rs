use std::{str::FromStr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Tasks are scheduled for later: from schedule to the ack that says it is on disk.
    Schedule,
    /// Tasks are scheduled, delivered and acknowledged: from schedule to delivery.
    Deliver,
    /// Tasks fall due at an even rate: from when a task is due to its delivery.
    Late,
}

/// The load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The server, a host and a port.
    pub address: String,
    /// What is measured.
    pub mode: Mode,
    /// How many connections there are, from 1. Each schedules for a route of its own.
    pub connections: u32,
    /// How many tasks of a connection may be without their answer, from 1. Of no use to [`Mode::Late`].
    pub pipeline: u32,
    /// How many tasks there are, over all connections.
    pub tasks: u64,
    /// The length of each payload.
    pub payload_bytes: usize,
    /// How far ahead of the schedule a task is due.
    pub delay: Duration,
    /// How many tasks fall due each second, over all connections. Of use to [`Mode::Late`] alone.
    pub rate: u32,
    /// Whether tasks that were scheduled for later stay; otherwise they are cancelled in the end.
    pub keep: bool,
    /// Whether every ack of a delivery is to be confirmed; otherwise only the last of each connection is.
    pub confirm: bool,
    /// The first part of the names of the routes, and of the ids. Without one it is random.
    pub name: Option<String>,
}

impl Plan {
    /// How many of the tasks are the business of this connection.
    pub(super) fn share(&self, connection: u32) -> u32 {
        let (all, among) = (self.tasks, u64::from(self.connections));
        let share = all / among + u64::from(u64::from(connection) < all % among);
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// The payload of all tasks, in base64: random, so that nothing makes it shorter.
    pub(super) fn payload(&self) -> String {
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..))
            .take(self.payload_bytes)
            .collect();
        STANDARD.encode(bytes)
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "schedule" => Ok(Self::Schedule),
            "deliver" => Ok(Self::Deliver),
            "late" => Ok(Self::Late),
            _ => Err(format!("{name} is no mode: give schedule, deliver or late")),
        }
    }
}
