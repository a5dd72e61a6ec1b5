use std::fmt;

use serde::{Deserialize, Serialize};

/// The last failure of a task. Serialized with the field names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LastFailure {
    /// When the round ended, in Unix milliseconds.
    #[serde(rename = "at")]
    pub at_millis: u64,
    /// How it ended.
    pub kind: FailureKind,
    /// The reason of the nack, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a round has failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FailureKind {
    /// The consumer gave the delivery back.
    Nack,
    /// The consumer did not answer in time.
    AckTimeout,
    /// The connection of the consumer ended, or took no bytes of the delivery.
    ConnectionLost,
    /// The delivery could not be made for its consumer.
    Target,
    /// A kind of a newer server.
    Other(String),
}

impl FailureKind {
    /// The kind on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Nack => "nack",
            Self::AckTimeout => "ack_timeout",
            Self::ConnectionLost => "connection_lost",
            Self::Target => "target",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for FailureKind {
    /// Writes the kind in words, such as `ack timeout`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

impl From<String> for FailureKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "nack" => Self::Nack,
            "ack_timeout" => Self::AckTimeout,
            "connection_lost" => Self::ConnectionLost,
            "target" => Self::Target,
            _ => Self::Other(name),
        }
    }
}

impl From<FailureKind> for String {
    fn from(kind: FailureKind) -> Self {
        kind.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_written_as_it_was_read_and_unknown_kinds_stay() {
        for json in [
            r#"{"at":7,"kind":"nack","reason":"no"}"#,
            r#"{"at":7,"kind":"ack_timeout"}"#,
            r#"{"at":7,"kind":"connection_lost"}"#,
            r#"{"at":7,"kind":"target"}"#,
            r#"{"at":7,"kind":"of_the_future"}"#,
        ] {
            let failure: LastFailure = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&failure).unwrap(), json);
        }
        assert_eq!(FailureKind::AckTimeout.to_string(), "ack timeout");
    }
}
