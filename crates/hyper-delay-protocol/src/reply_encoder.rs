//! Encodes replies in the version of their connection.

use super::{Reply, Version};

/// Encodes the replies of one connection, each in the version that the last `hello` reply before it
/// names.
#[derive(Debug, Default)]
pub struct Encoder {
    version: Version,
}

impl Encoder {
    /// An encoder for a peer that speaks `version`.
    #[must_use]
    pub const fn of(version: Version) -> Self {
        Self { version }
    }

    /// Appends the line of `reply` and its `\n`. A `hello` reply changes the version of all replies
    /// after it.
    pub fn encode(&mut self, reply: &Reply, tag: Option<&str>, out: &mut Vec<u8>) {
        if let Reply::Hello { version, .. } = reply {
            self.version = *version;
        }
        reply.write(self.version, tag, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(replies: &[Reply]) -> Vec<String> {
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        for reply in replies {
            encoder.encode(reply, None, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        let kind = |line: &str| line.split('"').nth(3).unwrap().to_owned();
        text.lines().map(kind).collect()
    }

    #[test]
    fn a_hello_reply_changes_the_kind_of_later_schedule_replies() {
        let scheduled = || Reply::Scheduled {
            id: "x".into(),
            route: "r".into(),
            fire_at: 1,
        };
        let hello = |version| Reply::Hello {
            version,
            strict: false,
        };
        let replies = [
            scheduled(),
            hello(Version::V2),
            Reply::Pong,
            scheduled(),
            hello(Version::V1),
            scheduled(),
        ];
        assert_eq!(
            kinds(&replies),
            ["ack", "hello", "pong", "scheduled", "hello", "ack"]
        );
    }
}
