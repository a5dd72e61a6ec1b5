//! Why the last round of a task failed.

use std::{io, sync::Arc};

use super::json_writer::{self, JsonWriter};

/// The last failure of a task that is tried again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LastFailure {
    /// When the round ended, in Unix milliseconds.
    pub at: u64,
    /// How it ended.
    pub kind: FailureKind,
    /// The reason of the nack, or the error of the target.
    pub reason: Option<Arc<str>>,
}

impl LastFailure {
    /// The most bytes that it takes in the object of a task.
    #[must_use]
    pub fn length(&self) -> usize {
        const NAME: usize = ",\"last_failure\":".len();
        NAME + json_writer::nested_length(|object| self.write(object))
    }

    /// Writes the fields of its object in a line.
    pub(super) fn write<W: io::Write>(&self, object: JsonWriter<'_, W>) {
        object
            .field("at", &self.at)
            .field("kind", self.kind.as_str())
            .optional("reason", self.reason.as_deref())
            .close();
    }
}

/// How a round has failed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum FailureKind {
    /// The consumer gave the delivery back.
    Nack,
    /// The consumer did not answer in time.
    AckTimeout,
    /// The connection of the consumer ended, or took no bytes of the delivery.
    ConnectionLost,
    /// The delivery could not be made for its consumer.
    Target,
}

impl FailureKind {
    /// The kind on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nack => "nack",
            Self::AckTimeout => "ack_timeout",
            Self::ConnectionLost => "connection_lost",
            Self::Target => "target",
        }
    }
}
