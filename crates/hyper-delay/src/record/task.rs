use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::protocol::Compression;

/// The content of a revision, which its deliveries carry. It is written once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task<'a> {
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// The payload, which the server does not interpret.
    #[serde(serialize_with = "bytes")]
    pub payload: &'a [u8],
}

/// Serializes a slice in one piece. By default, `serde` serializes a slice as a sequence, item by
/// item, which `postcard` encodes the same way.
fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// A 128-bit XXH3 hash of a content. Only contents of the same name are compared: a chance
/// collision is negligible, and a client that constructs one affects only its own task.
pub(crate) type Digest = [u8; 16];

impl Task<'_> {
    /// Returns the digest of this content.
    #[must_use]
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = Xxh3::new();
        hasher.update(&self.fire_at.to_be_bytes());
        hasher.update(self.compression.as_str().as_bytes());
        hasher.update(b"\n");
        hasher.update(self.payload);
        hasher.digest128().to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    /// A content whose payload is serialized item by item.
    #[derive(Serialize)]
    struct ItemByItem<'a> {
        fire_at: u64,
        compression: Compression,
        payload: &'a [u8],
    }

    #[test]
    fn payload_is_encoded_as_a_sequence_of_bytes() {
        let payload = [7; 300];
        let task = Task {
            fire_at: 1,
            compression: Compression::Lz4,
            payload: &payload,
        };
        let encoded = record::encode(&task);
        let item_by_item = ItemByItem {
            fire_at: task.fire_at,
            compression: task.compression,
            payload: &payload,
        };
        assert_eq!(encoded, record::encode(&item_by_item));
        assert_eq!(record::decode::<Task<'_>>(&encoded).unwrap(), task);
    }
}
