//! The encoding of some fields between the nodes of a cluster, which is not the text for clients.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use super::Terms;

/// Bytes in one piece. By default, `serde` takes them one by one.
pub(super) mod bytes {
    use super::{BytesOwned, Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8]>, D::Error> {
        BytesOwned::deserialize(deserializer).map(|BytesOwned(bytes)| bytes)
    }
}

/// Bytes in one piece, if there are any.
pub(super) mod optional_bytes {
    use super::{BytesOwned, BytesRef, Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Box<[u8]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(BytesRef).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<[u8]>>, D::Error> {
        let bytes = Option::<BytesOwned>::deserialize(deserializer)?;
        Ok(bytes.map(|BytesOwned(bytes)| bytes))
    }
}

/// Terms with every field: their text for clients leaves out the empty ones.
pub(super) mod terms {
    use super::{AllTerms, Deserialize as _, Deserializer, Serialize as _, Serializer, Terms};

    pub(crate) fn serialize<S: Serializer>(
        terms: &Option<Box<Terms>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let terms = terms.as_deref().copied();
        terms.map(AllTerms::from).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Terms>>, D::Error> {
        let terms = Option::<AllTerms>::deserialize(deserializer)?;
        Ok(terms.map(|terms| Box::new(terms.into())))
    }
}

/// A word of [`JobRow`](super::JobRow).
pub(super) mod job_word {
    use super::{Deserialize as _, Deserializer, JobWord, Serializer};

    pub(crate) fn serialize<S: Serializer>(word: &str, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::{Serialize as _, ser::Error as _};

        let found = JobWord::ALL.into_iter().find(|it| it.as_str() == word);
        let unknown = || S::Error::custom(format_args!("no job has the word {word:?}"));
        found.ok_or_else(unknown)?.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static str, D::Error> {
        JobWord::deserialize(deserializer).map(JobWord::as_str)
    }
}

/// Written in one piece.
struct BytesRef<'a>(&'a [u8]);

impl Serialize for BytesRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Read in one piece.
struct BytesOwned(Box<[u8]>);

impl<'de> Deserialize<'de> for BytesOwned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;

        impl Visitor<'_> for BytesVisitor {
            type Value = BytesOwned;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<BytesOwned, E> {
                Ok(BytesOwned(bytes.into()))
            }
        }

        deserializer.deserialize_bytes(BytesVisitor)
    }
}

/// The fields of [`Terms`].
#[derive(Serialize, Deserialize)]
struct AllTerms {
    expires_at: Option<u64>,
    ack_timeout_ms: Option<u64>,
    max_attempts: Option<u32>,
    retry_delay_ms: Option<u64>,
    max_retry_delay_ms: Option<u64>,
}

impl From<Terms> for AllTerms {
    fn from(terms: Terms) -> Self {
        let Terms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        } = terms;
        Self {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        }
    }
}

impl From<AllTerms> for Terms {
    fn from(terms: AllTerms) -> Self {
        let AllTerms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        } = terms;
        Self {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        }
    }
}

/// The kind of a bulk operation, or its state. Append new variants, and never move one.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum JobWord {
    KickAll,
    DeleteAll,
    Purge,
    Running,
    Done,
    Stopped,
    Failed,
    RunNowAll,
    RescheduleAll,
}

impl JobWord {
    const ALL: [Self; 9] = [
        Self::KickAll,
        Self::DeleteAll,
        Self::Purge,
        Self::Running,
        Self::Done,
        Self::Stopped,
        Self::Failed,
        Self::RunNowAll,
        Self::RescheduleAll,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::KickAll => "kick_all",
            Self::DeleteAll => "delete_all",
            Self::Purge => "purge",
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::RunNowAll => "run_now_all",
            Self::RescheduleAll => "reschedule_all",
        }
    }
}
