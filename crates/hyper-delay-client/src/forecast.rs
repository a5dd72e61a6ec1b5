use serde::{Deserialize, Serialize};

use crate::wire::Reply;

/// How many tasks wait for the minutes, hours and days ahead. Serialized with the field names of
/// the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Forecast {
    /// The start of the current minute in Unix milliseconds.
    #[serde(rename = "minute")]
    pub minute_millis: u64,
    /// The tasks due in each minute, the current one first.
    pub minutes: Vec<u64>,
    /// The start of the current hour in Unix milliseconds.
    #[serde(rename = "hour")]
    pub hour_millis: u64,
    /// The tasks due in each hour, the current one first.
    pub hours: Vec<u64>,
    /// The start of the current day of UTC in Unix milliseconds.
    #[serde(rename = "day")]
    pub day_millis: u64,
    /// The tasks due in each day, the current one first.
    pub days: Vec<u64>,
    /// While the server counts after its start: only tasks due before this time are counted, in
    /// Unix milliseconds.
    #[serde(rename = "counted_until", skip_serializing_if = "Option::is_none")]
    pub counted_until_millis: Option<u64>,
}

impl Reply for Forecast {
    const KINDS: &'static [&'static str] = &["future"];
}
