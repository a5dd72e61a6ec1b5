use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::payload;
use crate::Delivery;

/// The tag of a request: a number, sent as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(pub(crate) u64);

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A line of the client. Fields that are `None` are left out.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<Tag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fire_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shift_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compression: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replace: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirm: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extend_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) credit: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accept: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<u64>,
    #[serde(rename = "payload", skip_serializing_if = "Option::is_none")]
    pub(crate) with_payload: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_flight: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headers: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retry_delay_ms: Option<u64>,
    /// Written last, as `payload_base64`.
    #[serde(skip)]
    pub(crate) payload: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// A request about a delivery.
    pub(crate) fn about(kind: &'static str, delivery: &'a Delivery) -> Self {
        Self {
            id: Some(delivery.id()),
            route_key: Some(delivery.route()),
            attempt: Some(delivery.attempt()),
            ..Self::of(kind)
        }
    }

    pub(crate) fn of(kind: &'static str) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// The line with its end.
    pub(crate) fn line(&self) -> Vec<u8> {
        let payload_len = self
            .payload
            .map_or(0, |payload| payload.len().div_ceil(3) * 4);
        let mut line = Vec::with_capacity(256 + payload_len);
        serde_json::to_writer(&mut line, self).expect("strings and numbers are always JSON");
        if let Some(bytes) = self.payload {
            let brace = line.pop();
            debug_assert_eq!(brace, Some(b'}'));
            line.extend_from_slice(br#","payload_base64":""#);
            payload::encode(bytes, &mut line);
            line.extend_from_slice(br#""}"#);
        }
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Tag};

    #[test]
    fn a_line_has_what_was_given_and_ends() {
        let ping = Request {
            tag: Some(Tag(7)),
            ..Request::of("ping")
        };
        assert_eq!(ping.line(), b"{\"kind\":\"ping\",\"tag\":\"7\"}\n");

        let schedule = Request {
            id: Some("a \"quoted\" one"),
            fire_at: Some(5),
            payload: Some(b"hello"),
            ..Request::of("schedule")
        };
        let line = String::from_utf8(schedule.line()).unwrap();
        let wanted = r#"{"kind":"schedule","id":"a \"quoted\" one","fire_at":5,"payload_base64":"aGVsbG8="}"#;
        assert_eq!(line.trim_end_matches('\n'), wanted);
    }
}
