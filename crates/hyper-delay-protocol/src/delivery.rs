//! The line that delivers a task to a consumer.

use std::io;

use super::{
    Compression,
    json_writer::{ByteCounter, JsonWriter},
    payload,
};

/// A copy of a task for one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The id of the task.
    pub id: &'a str,
    /// The route of the task.
    pub route: &'a str,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// When its round was due in Unix milliseconds, if that is another time.
    pub due: Option<u64>,
    /// The label of the payload.
    pub compression: Compression,
    /// The decoded payload.
    pub payload: &'a [u8],
    /// The number of the round, from 1.
    pub attempt: u32,
    /// The headers as a JSON object; empty if there are none.
    pub headers: &'a str,
}

impl Delivery<'_> {
    /// Appends the line and its `\n`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let names = self.id.len() + self.route.len() + self.headers.len();
        out.reserve(self.payload.len() / 3 * 4 + 192 + names);
        self.write(out, self.attempt, |out| payload::encode(self.payload, out));
        out.push(b'\n');
    }

    /// The maximum length of the line without its end: the exact length for the highest `attempt`.
    /// Does not read the payload.
    #[must_use]
    pub fn longest(&self) -> usize {
        let mut count = ByteCounter(payload::length(self.payload));
        self.write(&mut count, u32::MAX, |_| ());
        count.0
    }

    /// Whether [`longest`](Self::longest) is at most `most`. Counts the line only if an estimate
    /// does not show it.
    #[must_use]
    pub fn fits(&self, most: usize) -> bool {
        self.estimate() <= most || self.longest() <= most
    }

    /// A length that [`longest`](Self::longest) does not exceed.
    fn estimate(&self) -> usize {
        /// The names of the fields, the numbers and the compression.
        const FRAME: usize = 192;
        /// The length of one byte as `\u0000`.
        const ESCAPED: usize = 6;
        let names = (self.id.len() + self.route.len()) * ESCAPED;
        FRAME + names + payload::length(self.payload) + self.headers.len()
    }

    fn write<W: io::Write>(&self, out: &mut W, attempt: u32, base64: impl FnOnce(&mut W)) {
        JsonWriter::line("delivery", out)
            .field("id", self.id)
            .field("route_key", self.route)
            .field("fire_at", &self.fire_at)
            .optional("due", self.due)
            .quoted("payload_base64", base64)
            .field("compression", self.compression.as_str())
            .field("attempt", &attempt)
            .raw("headers", self.headers)
            .close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIVERY: Delivery<'_> = Delivery {
        id: "order \"17\"",
        route: "service-A",
        fire_at: 1_732_616_400_000,
        due: None,
        compression: Compression::Lz4,
        payload: b"hello",
        attempt: 1,
        headers: "",
    };

    #[test]
    fn a_delivery_matches_the_protocol() {
        let mut out = Vec::new();
        DELIVERY.encode(&mut out);
        let line = r#"{"kind":"delivery","id":"order \"17\"","route_key":"service-A","fire_at":1732616400000,"payload_base64":"aGVsbG8=","compression":"lz4","attempt":1}"#;
        assert_eq!(out, format!("{line}\n").into_bytes());
    }

    #[test]
    fn another_due_time_follows_the_scheduled_one() {
        let mut out = Vec::new();
        let delivery = Delivery {
            fire_at: 0,
            due: Some(1_732_616_400_000),
            ..DELIVERY
        };
        delivery.encode(&mut out);
        let line = r#"{"kind":"delivery","id":"order \"17\"","route_key":"service-A","fire_at":0,"due":1732616400000,"payload_base64":"aGVsbG8=","compression":"lz4","attempt":1}"#;
        assert_eq!(out, format!("{line}\n").into_bytes());
    }

    #[test]
    fn headers_are_the_last_field() {
        let mut out = Vec::new();
        let headers = r#"{"a":"b"}"#;
        let delivery = Delivery {
            headers,
            ..DELIVERY
        };
        delivery.encode(&mut out);
        assert!(out.ends_with(b",\"attempt\":1,\"headers\":{\"a\":\"b\"}}\n"));
    }

    #[test]
    fn the_longest_is_exact_at_the_highest_attempt() {
        let mut out = Vec::new();
        let first = Delivery {
            headers: r#"{"a":"b"}"#,
            ..DELIVERY
        };
        let last = Delivery {
            attempt: u32::MAX,
            ..first.clone()
        };
        last.encode(&mut out);
        assert_eq!(first.longest(), out.len() - 1);
        assert_eq!(last.longest(), out.len() - 1);
    }

    #[test]
    fn a_line_fits_up_to_its_longest_length() {
        let escaped = "\u{1}".repeat(128);
        let most = Delivery {
            id: &escaped,
            route: &escaped,
            fire_at: u64::MAX,
            due: Some(u64::MAX),
            payload: &[7; 1_000],
            headers: r#"{"a":"b"}"#,
            ..DELIVERY
        };
        let empty = Delivery {
            id: "",
            route: "",
            fire_at: 0,
            payload: b"",
            ..DELIVERY
        };
        for delivery in [most, empty, DELIVERY] {
            let longest = delivery.longest();
            assert!(delivery.estimate() >= longest);
            assert!(delivery.fits(longest) && !delivery.fits(longest - 1));
            assert!(delivery.fits(delivery.estimate()));
        }
    }
}
