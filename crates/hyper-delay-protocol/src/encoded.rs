//! How nodes of a cluster encode some fields for each other. The text for clients is another one.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

use super::Terms;

/// Bytes in one piece. By default, `serde` takes them one by one.
pub(super) mod bytes {
    use super::{Bytes, Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8]>, D::Error> {
        Bytes::deserialize(deserializer).map(|Bytes(bytes)| bytes)
    }
}

/// Bytes in one piece, if there are any.
pub(super) mod maybe_bytes {
    use super::{Bytes, Deserialize as _, Deserializer, Piece, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Box<[u8]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(Piece).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<[u8]>>, D::Error> {
        let bytes = Option::<Bytes>::deserialize(deserializer)?;
        Ok(bytes.map(|Bytes(bytes)| bytes))
    }
}

/// Terms with every field: their text for clients leaves out the empty ones.
pub(super) mod terms {
    use super::{Deserialize as _, Deserializer, EveryTerm, Serialize as _, Serializer, Terms};

    pub(crate) fn serialize<S: Serializer>(
        terms: &Option<Box<Terms>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let terms = terms.as_deref().copied();
        terms.map(EveryTerm::from).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Terms>>, D::Error> {
        let terms = Option::<EveryTerm>::deserialize(deserializer)?;
        Ok(terms.map(|terms| Box::new(terms.into())))
    }
}

/// A word of [`JobRow`](super::JobRow).
pub(super) mod word {
    use super::{Deserialize as _, Deserializer, Serializer, Word};

    pub(crate) fn serialize<S: Serializer>(word: &str, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::{Serialize as _, ser::Error as _};

        let found = Word::ALL.into_iter().find(|it| it.as_str() == word);
        let unknown = || S::Error::custom(format_args!("no job has the word {word:?}"));
        found.ok_or_else(unknown)?.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static str, D::Error> {
        Word::deserialize(deserializer).map(Word::as_str)
    }
}

/// Written in one piece.
struct Piece<'a>(&'a [u8]);

impl Serialize for Piece<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Read in one piece.
struct Bytes(Box<[u8]>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.into()))
            }
        }

        deserializer.deserialize_bytes(Reader)
    }
}

/// The fields of [`Terms`].
#[derive(Serialize, Deserialize)]
struct EveryTerm {
    expires_at: Option<u64>,
    ack_timeout_ms: Option<u64>,
    max_attempts: Option<u32>,
    retry_delay_ms: Option<u64>,
    max_retry_delay_ms: Option<u64>,
}

impl From<Terms> for EveryTerm {
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

impl From<EveryTerm> for Terms {
    fn from(terms: EveryTerm) -> Self {
        let EveryTerm {
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

/// What a bulk operation does, or its state.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Word {
    KickAll,
    DeleteAll,
    Purge,
    Running,
    Done,
    Stopped,
    Failed,
}

impl Word {
    const ALL: [Self; 7] = [
        Self::KickAll,
        Self::DeleteAll,
        Self::Purge,
        Self::Running,
        Self::Done,
        Self::Stopped,
        Self::Failed,
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
        }
    }
}
