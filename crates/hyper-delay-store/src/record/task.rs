use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use super::{
    Record, TaggedFields, append, tagged_fields, take,
    terms::{append_terms, take_terms},
};
use crate::StoreError;
use hyper_delay_protocol::{Compression, Terms};

/// The content of a revision, which its deliveries carry. It is written once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task<'a> {
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// The payload, which the server does not interpret.
    #[serde(serialize_with = "bytes")]
    pub payload: &'a [u8],
    /// The terms of the task, which replace the settings.
    #[serde(skip)]
    pub terms: Option<Box<Terms>>,
    /// The headers as a JSON object; empty if there are none. They are not content.
    #[serde(skip)]
    pub headers: &'a str,
    /// The delay in milliseconds that the task was scheduled with, in place of a time.
    #[serde(skip)]
    pub delay_ms: Option<u64>,
}

impl<'a> Record<'a> for Task<'a> {
    fn has_extension(&self) -> bool {
        self.terms.is_some() || !self.headers.is_empty()
    }

    fn extension(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = append_terms(self.terms.as_deref(), bytes);
        bytes.extend_from_slice(self.headers.as_bytes());
        bytes
    }

    fn extend(&mut self, extension: &'a [u8]) -> Result<&'a [u8], StoreError> {
        let (terms, headers) = take_terms(extension)?;
        self.terms = terms;
        self.headers = text(headers)?;
        Ok(&[])
    }

    fn has_tagged_fields(&self) -> bool {
        self.delay_ms.is_some()
    }

    fn tagged_fields(&self, fields: &mut TaggedFields) {
        if let Some(terms) = &self.terms {
            let terms = append_terms(Some(terms), Vec::new());
            fields.add(tagged_fields::TERMS, &terms);
        }
        if !self.headers.is_empty() {
            fields.add(tagged_fields::HEADERS, self.headers.as_bytes());
        }
        if let Some(delay_ms) = self.delay_ms {
            fields.add(tagged_fields::DELAY_MS, &append(&delay_ms, Vec::new()));
        }
    }

    fn set_tagged_field(&mut self, tag: u32, value: &'a [u8]) -> Result<bool, StoreError> {
        match tag {
            tagged_fields::HEADERS => self.headers = text(value)?,
            tagged_fields::DELAY_MS => self.delay_ms = Some(take(value)?.0),
            _ => return tagged_fields::set_terms(tag, value, &mut self.terms),
        }
        Ok(true)
    }
}

fn text(bytes: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(bytes).map_err(|error| StoreError::damage("read a record", error))
}

/// Serializes a slice in one piece. By default, `serde` serializes a slice as a sequence, item by
/// item, which `postcard` encodes the same way.
fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// A 128-bit XXH3 hash of a content. Only contents of the same name are compared: a chance
/// collision is negligible, and a client that constructs one affects only its own task.
pub type Digest = [u8; 16];

impl Task<'_> {
    /// Returns the digest of this content. A delay takes the place of the time, so that a repeated
    /// schedule with the same delay has the same digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Xxh3::new();
        match self.delay_ms {
            None => hasher.update(&self.fire_at.to_be_bytes()),
            Some(delay_ms) => {
                hasher.update(&delay_ms.to_be_bytes());
                // No name of a compression begins like this.
                hasher.update(b"delay ");
            }
        }
        hasher.update(self.compression.as_str().as_bytes());
        if self.terms.is_some() {
            // No name of a compression contains a zero, and the terms show where they end.
            hasher.update(&append_terms(self.terms.as_deref(), vec![0]));
        }
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
    #[derive(Serialize, Deserialize)]
    struct ItemByItem<'a> {
        fire_at: u64,
        compression: Compression,
        payload: &'a [u8],
    }

    impl<'a> Record<'a> for ItemByItem<'a> {}

    #[test]
    fn terms_and_headers_are_kept_and_only_terms_are_content() {
        let terms = Terms {
            expires_at: Some(7),
            ..Terms::default()
        };
        let mut digests = Vec::new();
        for terms in [
            None,
            Some(Box::new(Terms::default())),
            Some(Box::new(terms)),
        ] {
            for headers in ["", r#"{"a":"b"}"#] {
                let terms = terms.clone();
                let task = Task {
                    fire_at: 1,
                    compression: Compression::None,
                    payload: b"hello",
                    terms,
                    headers,
                    delay_ms: None,
                };
                let encoded = record::encode(&task);
                assert_eq!(record::decode::<Task<'_>>(&encoded).unwrap(), task);
                assert_eq!(encoded[0], 1 + u8::from(task.has_extension()));
                digests.push(task.digest());
            }
        }
        for pair in digests.chunks(2) {
            assert_eq!(pair[0], pair[1], "headers are not content");
        }
        digests.dedup();
        assert_eq!(digests.len(), 3);
    }

    #[test]
    fn a_delay_makes_version_3_with_terms_and_headers_and_counts_in_place_of_the_time() {
        let terms = Some(Box::new(Terms {
            max_attempts: Some(3),
            ..Terms::default()
        }));
        let mut digests = Vec::new();
        for terms in [None, terms] {
            for headers in ["", r#"{"a":"b"}"#] {
                for (fire_at, delay_ms) in [(7, Some(9)), (8, Some(9)), (9, None), (9, Some(8))] {
                    let task = Task {
                        fire_at,
                        compression: Compression::Zstd,
                        payload: b"hello",
                        terms: terms.clone(),
                        headers,
                        delay_ms,
                    };
                    let encoded = record::encode(&task);
                    assert_eq!(record::decode::<Task<'_>>(&encoded).unwrap(), task);
                    assert_eq!(record::needs_version_3(&encoded), delay_ms.is_some());
                    digests.push(task.digest());
                }
            }
        }
        for same in digests.chunks(4) {
            assert_eq!(same[0], same[1], "another time, the same delay");
            assert_ne!(same[1], same[2], "a time is no delay");
            assert_ne!(same[1], same[3], "another delay");
        }
    }

    #[test]
    fn payload_is_encoded_as_a_sequence_of_bytes() {
        let payload = [7; 300];
        let task = Task {
            fire_at: 1,
            compression: Compression::Lz4,
            payload: &payload,
            terms: None,
            headers: "",
            delay_ms: None,
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
