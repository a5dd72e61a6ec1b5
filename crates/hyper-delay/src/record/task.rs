use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::protocol::Compression;

/// The content of a task: what a delivery is made of. It is written once, and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task<'a> {
    /// Unix milliseconds, as it was scheduled.
    pub fire_at: u64,
    /// The label that travels with the payload.
    pub compression: Compression,
    /// Opaque.
    #[serde(serialize_with = "bytes")]
    pub payload: &'a [u8],
}

/// Serializes a slice in one piece. By default, `serde` serializes a slice as a sequence, item by
/// item, which `postcard` encodes the same way.
fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// Tells contents apart: XXH3 with 128 bits. A chance collision between two contents of one name is
/// not expected. A client that constructs one harms only itself.
pub type Digest = [u8; 16];

impl Task<'_> {
    /// The digest of this content.
    #[must_use]
    pub fn digest(&self) -> Digest {
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
