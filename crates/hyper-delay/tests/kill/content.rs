//! The content and the headers of the tasks that producers schedule.

use base64::{Engine, engine::general_purpose::STANDARD};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use testkit::{terms, wire::text};

/// What a schedule says of a content, beside the payload.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    /// When it is due, in Unix milliseconds.
    pub(crate) fire_at: u64,
    /// Its headers and terms, as fields of a request.
    pub(crate) fields: Map<String, Value>,
}

impl Content {
    /// Draws headers and terms for a task. Each is there or not, whatever the others are.
    pub(crate) fn draw(fire_at: u64, now: u64, random: &mut Rng) -> Self {
        let mut fields = Map::new();
        let mut maybe = |of_ten: u8, field: &str, value: &dyn Fn(&mut Rng) -> Value| {
            if random.u8(0..10) < of_ten {
                fields.insert(field.to_owned(), value(random));
            }
        };
        let first = std::cell::Cell::new(1);
        maybe(3, "headers", &headers);
        // Some of these times pass before the request arrives.
        maybe(2, "expires_at", &|random| {
            let most = if random.bool() { 300 } else { 5_000 };
            json!(fire_at.max(now) + random.u64(1..most))
        });
        maybe(2, "ack_timeout_ms", &|random| json!(random.u64(500..3_000)));
        maybe(2, "max_attempts", &|random| json!(random.u32(1..4)));
        maybe(2, "retry_delay_ms", &|random| {
            first.set(random.u64(1..100));
            json!(first.get())
        });
        maybe(2, "max_retry_delay_ms", &|random| {
            json!(first.get() + random.u64(0..200))
        });
        Self { fire_at, fields }
    }

    /// When it expires, in Unix milliseconds.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        self.fields.get("expires_at")?.as_u64()
    }

    /// Whether its time has passed.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        self.expires_at().is_some_and(|at| at <= now)
    }
}

/// Draws the headers of a task.
pub(crate) fn headers(random: &mut Rng) -> Value {
    let id = format!("{:016x}", random.u64(..));
    match random.bool() {
        true => json!({"traceparent": id}),
        false => json!({"traceparent": id, "quote": "\"\\", "empty": ""}),
    }
}

/// Returns the word that a payload starts with, which only this content has.
pub(crate) fn word(line: &Value) -> String {
    let payload = STANDARD.decode(text(line, "payload_base64")).unwrap();
    let payload = String::from_utf8(payload).unwrap();
    payload.split_once(' ').unwrap().0.to_owned()
}

/// Returns how the headers and terms of a stored task differ from those of its schedule.
pub(crate) fn difference(found: &Value, sent: &Content) -> Option<String> {
    let found = terms::of(found);
    (found != sent.fields).then(|| format!("{found:?}, and not {:?}", sent.fields))
}
