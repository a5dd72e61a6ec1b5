use serde::{Deserialize, Serialize};

use super::{
    Digest, Record, key,
    terms::{append_terms, take_terms},
};
use crate::StoreError;
use hyper_delay_protocol::{TaskState, Terms};

/// The state of a task, stored under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The sequence number of the revision.
    pub seq: u64,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The space and the time of its entry.
    pub place: Place,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// Number of rounds that failed since the task was scheduled, replaced or kicked.
    pub failures: u32,
    /// The digest of the content.
    pub digest: Digest,
    /// The length of the payload in bytes. 0 if an older server has written the name.
    #[serde(deserialize_with = "super::missing_as_zero")]
    pub bytes: u64,
    /// The terms of the task, which replace the settings.
    #[serde(skip)]
    pub terms: Option<Box<Terms>>,
}

impl Name {
    /// Returns the bytes of the payload if the task is pending: waiting or parked.
    #[must_use]
    pub const fn pending_bytes(&self) -> u64 {
        match self.place {
            Place::Waiting(_) | Place::Parked(_) => self.bytes,
            Place::Dead(_) => 0,
        }
    }

    /// Returns the key of the task in the index of expiry, if it expires.
    #[must_use]
    pub fn expiry_key(&self) -> Option<Vec<u8>> {
        let at = self.terms.as_ref()?.expires_at?;
        Some(key::expiry(at, self.seq))
    }
}

impl<'a> Record<'a> for Name {
    fn has_extension(&self) -> bool {
        self.terms.is_some()
    }

    fn extension(&self, bytes: Vec<u8>) -> Vec<u8> {
        append_terms(self.terms.as_deref(), bytes)
    }

    fn extend(&mut self, extension: &'a [u8]) -> Result<&'a [u8], StoreError> {
        let (terms, rest) = take_terms(extension)?;
        self.terms = terms;
        Ok(rest)
    }
}

/// The space that lists a task, and the time it is listed under, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The due time.
    Waiting(u64),
    /// The due time, which has passed without a consumer.
    Parked(u64),
    /// The time of death.
    Dead(u64),
}

impl Place {
    /// Returns the state of a task that is not in flight.
    #[must_use]
    pub const fn state(self) -> TaskState {
        match self {
            Self::Waiting(_) => TaskState::Waiting,
            Self::Parked(_) => TaskState::Parked,
            Self::Dead(_) => TaskState::Dead,
        }
    }

    /// Returns the time that the task is listed under, in Unix milliseconds.
    #[must_use]
    pub const fn at(self) -> u64 {
        match self {
            Self::Waiting(at) | Self::Parked(at) | Self::Dead(at) => at,
        }
    }
}

/// A finished task in the deduplication window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// The time it expires, in Unix milliseconds.
    pub until: u64,
    /// Number of rounds, over all revisions.
    pub attempt: u32,
    /// The digest of the content.
    pub digest: Digest,
}

impl Record<'_> for FinishedTask {}

/// The name of a task, stored under the time of its expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryEntry<'a> {
    /// The route of the task.
    pub route: &'a str,
    /// The id of the task.
    pub id: &'a str,
}

impl<'a> Record<'a> for ExpiryEntry<'a> {}
