use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Mode;

/// How long something took: in the median, for all but one in a hundred, and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Half took no longer.
    #[serde(rename = "p50_ms", serialize_with = "millis")]
    pub p50: Duration,
    /// One in a hundred took longer.
    #[serde(rename = "p99_ms", serialize_with = "millis")]
    pub p99: Duration,
    /// None took longer.
    #[serde(rename = "max_ms", serialize_with = "millis")]
    pub max: Duration,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// What was measured; what `times` are depends on it.
    pub mode: Mode,
    /// How many connections there were.
    pub connections: u32,
    /// How many tasks of a connection were without their answer, at most.
    pub pipeline: u32,
    /// How many tasks there were.
    pub tasks: u64,
    /// The length of each payload.
    pub payload_bytes: usize,
    /// From the first byte sent to the last answer.
    pub seconds: f64,
    /// Tasks in a second.
    pub tasks_per_second: f64,
    /// How long it took: see [`Mode`].
    #[serde(flatten)]
    pub times: Quantiles,
    /// Tasks that were delivered before their time.
    pub early: u64,
    /// Deliveries of a task that had been delivered already.
    pub again: u64,
    /// The processor time of the load for each task, in microseconds.
    pub load_cpu_us_per_task: Option<f64>,
    /// The processor time of the server for each task, in microseconds, if it is known.
    pub server_cpu_us_per_task: Option<f64>,
}

fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1_000.0)
}
