//! Parses the lines of the server that the load needs.

use serde::Deserialize;

use super::{LoadError, task_ids};

/// A line of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadReply {
    /// The token is accepted.
    Authenticated,
    /// A route is bound.
    Registered,
    /// A task is on disk.
    Scheduled(u32),
    /// A task is delivered.
    Delivery(ReceivedDelivery),
    /// The removal of a task is on disk.
    Acked,
    /// A task is cancelled.
    Cancelled,
}

/// The task and the round of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceivedDelivery {
    pub(super) number: u32,
    pub(super) attempt: u32,
}

impl LoadReply {
    pub(super) fn read(line: &[u8]) -> Result<Self, LoadError> {
        read_fast(line)
            .or_else(|| read_any(line))
            .ok_or_else(|| LoadError::Answer(String::from_utf8_lossy(line).into_owned()))
    }
}

/// Parses replies to `schedule` and deliveries whose fields are in the order in which this server
/// writes them.
fn read_fast(line: &[u8]) -> Option<LoadReply> {
    let named = |after_kind: &'static [u8]| {
        let rest = line.strip_prefix(after_kind)?;
        task_ids::number(&rest[..memchr::memchr(b'"', rest)?])
    };
    if let Some(number) = named(br#"{"kind":"ack","id":""#) {
        return Some(LoadReply::Scheduled(number));
    }
    let number = named(br#"{"kind":"delivery","id":""#)?;
    let at = memchr::memrchr(b':', line)?;
    let attempt = line[at + 1..].strip_suffix(b"}")?;
    line[..at].strip_suffix(br#","attempt""#)?;
    let attempt = std::str::from_utf8(attempt).ok()?.parse().ok()?;
    Some(LoadReply::Delivery(ReceivedDelivery { number, attempt }))
}

/// Parses any line that the protocol allows.
fn read_any(line: &[u8]) -> Option<LoadReply> {
    #[derive(Deserialize)]
    struct ReplyFields<'a> {
        #[serde(borrow)]
        kind: std::borrow::Cow<'a, str>,
        #[serde(borrow)]
        id: Option<std::borrow::Cow<'a, str>>,
        attempt: Option<u32>,
    }
    let fields: ReplyFields<'_> = serde_json::from_slice(line).ok()?;
    let number = || task_ids::number(fields.id.as_ref()?.as_bytes());
    Some(match &*fields.kind {
        "authenticated" => LoadReply::Authenticated,
        "registered" => LoadReply::Registered,
        "ack" => LoadReply::Scheduled(number()?),
        "delivery" => LoadReply::Delivery(ReceivedDelivery {
            number: number()?,
            attempt: fields.attempt?,
        }),
        "acked" => LoadReply::Acked,
        "cancelled" => LoadReply::Cancelled,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_any_order() {
        let delivery = LoadReply::Delivery(ReceivedDelivery {
            number: 10,
            attempt: 3,
        });
        for (line, wanted) in [
            (
                r#"{"kind":"ack","id":"b-0001-0000000a","fire_at":7}"#,
                LoadReply::Scheduled(10),
            ),
            (
                r#"{"fire_at":7,"id":"b-0001-0000000a","kind":"ack"}"#,
                LoadReply::Scheduled(10),
            ),
            (
                r#"{"kind":"delivery","id":"b-0001-0000000a","attempt":3}"#,
                delivery,
            ),
            (
                r#"{"kind":"delivery","id":"b-0001-0000000a","attempt":3,"new":1}"#,
                delivery,
            ),
            (
                r#"{"kind":"acked","id":"x","removed":true}"#,
                LoadReply::Acked,
            ),
        ] {
            assert_eq!(LoadReply::read(line.as_bytes()).unwrap(), wanted, "{line}");
        }
    }

    #[test]
    fn an_error_contains_the_line_of_the_server() {
        let line = r#"{"kind":"error","code":"too_long","message":"less"}"#;
        let error = LoadReply::read(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(line), "{error}");
    }
}
