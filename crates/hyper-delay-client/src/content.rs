use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wire::{or_default, payload};

/// The content of a task in a reply. Everything is `None` if it was not asked for or cannot be
/// read. Serialized with the field names of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Content {
    /// The label of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    /// The headers by name.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub headers: BTreeMap<String, String>,
    /// The payload in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The length of a payload that did not fit into the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
}

impl Content {
    /// Returns the payload, if the reply has one.
    #[must_use]
    pub fn payload(&self) -> Option<Vec<u8>> {
        payload::decode(self.payload_base64.as_deref()?).ok()
    }
}
