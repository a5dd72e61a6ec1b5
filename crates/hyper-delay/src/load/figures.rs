use std::time::Duration;

use serde::{Serialize, Serializer};

use super::LoadMode;

/// Quantiles of the measured times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// The median.
    #[serde(rename = "p50_ms", serialize_with = "millis")]
    pub p50: Duration,
    /// The 99th percentile.
    #[serde(rename = "p99_ms", serialize_with = "millis")]
    pub p99: Duration,
    /// The maximum.
    #[serde(rename = "max_ms", serialize_with = "millis")]
    pub max: Duration,
}

/// The results of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The kind of load; it defines `times`.
    pub mode: LoadMode,
    /// The number of connections.
    pub connections: u32,
    /// The maximum number of pending tasks on each connection.
    pub pipeline: u32,
    /// The number of tasks.
    pub tasks: u64,
    /// The length of each payload in bytes.
    pub payload_bytes: usize,
    /// Seconds from the first byte sent to the last reply.
    pub seconds: f64,
    /// Tasks per second.
    pub tasks_per_second: f64,
    /// The time that [`LoadMode`] defines.
    #[serde(flatten)]
    pub times: Quantiles,
    /// Tasks that were delivered before their time.
    pub early: u64,
    /// Redeliveries.
    pub again: u64,
    /// The processor time of the load per task, in microseconds. `None` without `/proc`.
    pub load_cpu_us_per_task: Option<f64>,
    /// The processor time of the server per task, in microseconds. `None` if its process id was not
    /// given.
    pub server_cpu_us_per_task: Option<f64>,
}

fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1_000.0)
}
