//! Headers and terms of tasks: what a schedule can have beside its payload.

use serde_json::{Map, Value};

/// The fields of a schedule with headers and terms.
pub const FIELDS: [&str; 6] = [
    "headers",
    "expires_at",
    "ack_timeout_ms",
    "max_attempts",
    "retry_delay_ms",
    "max_retry_delay_ms",
];

/// The headers and the terms in a request, a reply or a line of an export.
#[must_use]
pub fn of(line: &Value) -> Map<String, Value> {
    let given = FIELDS.iter().filter_map(|field| {
        let value = line.get(*field)?;
        Some(((*field).to_owned(), value.clone()))
    });
    given.collect()
}
