//! Versions of the protocol. A connection speaks version 1 until the server has answered its
//! `hello`.

use super::Reply;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// The version of a connection that sends no `hello`: the reply to `schedule` has kind `ack`.
    #[default]
    V1,
    /// The reply to `schedule` has kind `scheduled`.
    V2,
}

impl Version {
    /// The highest version that this server speaks.
    pub const LATEST: Self = Self::V2;

    /// The version for a client that asks for version `wanted`: the same one, or the latest one if
    /// `wanted` is newer.
    #[must_use]
    pub const fn agreed(wanted: u64) -> Self {
        match wanted {
            ..=1 => Self::V1,
            _ => Self::LATEST,
        }
    }

    /// The version as it is on the wire.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

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
        if let Reply::Hello(version) = reply {
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
    fn the_highest_common_version_is_agreed_on() {
        let agreed = [1, 2, 3, 1 << 53].map(|wanted| Version::agreed(wanted).number());
        assert_eq!(agreed, [1, 2, 2, 2]);
    }

    #[test]
    fn a_hello_reply_changes_the_kind_of_later_schedule_replies() {
        let scheduled = || Reply::Scheduled {
            id: "x".into(),
            route: "r".into(),
            fire_at: 1,
        };
        let replies = [
            scheduled(),
            Reply::Hello(Version::V2),
            Reply::Pong,
            scheduled(),
            Reply::Hello(Version::V1),
            scheduled(),
        ];
        assert_eq!(
            kinds(&replies),
            ["ack", "hello", "pong", "scheduled", "hello", "ack"]
        );
    }
}
