use serde::{Deserialize, Serialize};

use super::{
    Digest, Record,
    failure::{append_failure, take_failure},
    key, tagged_fields,
    terms::{append_terms, take_terms},
};
use crate::{Bytes, StoreError};
use hyper_delay_protocol::{LastFailure, TaskState, Terms};

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
    /// The last failure since the task was scheduled, replaced or kicked, if this version of the
    /// server has seen one.
    #[serde(skip)]
    pub failure: Option<Box<LastFailure>>,
}

impl Name {
    /// Returns whether the task is retrying: it is waiting or parked, and has a last failure.
    #[must_use]
    pub const fn is_retrying(&self) -> bool {
        self.failure.is_some() && !matches!(self.place, Place::Dead(_))
    }

    /// Returns the key of the task in the index of retrying tasks, if it is retrying.
    #[must_use]
    pub fn retrying_key(&self, route: &str) -> Option<Bytes> {
        self.is_retrying()
            .then(|| key::retrying(route, self.place.at(), self.seq))
    }

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

    fn set_tagged_field(&mut self, tag: u32, value: &'a [u8]) -> Result<bool, StoreError> {
        tagged_fields::set_terms(tag, value, &mut self.terms)
    }

    fn append_rest(&self, bytes: Vec<u8>) -> Vec<u8> {
        append_failure(self.failure.as_deref(), bytes)
    }

    fn read_rest(&mut self, rest: &'a [u8]) -> Result<&'a [u8], StoreError> {
        let (failure, rest) = take_failure(rest)?;
        self.failure = failure;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;
    use hyper_delay_protocol::FailureKind;

    /// The fields that version 0.3 reads.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Old {
        seq: u64,
        fire_at: u64,
        place: Place,
        attempt: u32,
        failures: u32,
        digest: Digest,
        bytes: u64,
    }

    impl Record<'_> for Old {}

    #[test]
    fn a_failure_follows_the_fields_and_older_servers_read_the_rest() {
        let failure = LastFailure {
            at: 70,
            kind: FailureKind::Nack,
            reason: Some("no".into()),
        };
        let terms = Terms {
            max_attempts: Some(3),
            ..Terms::default()
        };
        for terms in [None, Some(Box::new(terms))] {
            for failure in [None, Some(Box::new(failure.clone()))] {
                let name = Name {
                    seq: 1,
                    fire_at: 2,
                    place: Place::Parked(9),
                    attempt: 3,
                    failures: 4,
                    digest: [5; 16],
                    bytes: 0,
                    terms: terms.clone(),
                    failure,
                };
                let encoded = record::encode(&name);
                assert_eq!(record::decode::<Name>(&encoded).unwrap(), name);
                assert!(!record::needs_version_3(&encoded));
                if name.terms.is_none() {
                    let old: Old = record::decode(&encoded).unwrap();
                    assert_eq!((old.seq, old.place, old.bytes), (1, name.place, 0));
                }
                let key = name.retrying_key("r");
                assert_eq!(key.is_some(), name.failure.is_some());
                let dead = Name {
                    place: Place::Dead(9),
                    ..name
                };
                assert_eq!(dead.retrying_key("r"), None);
            }
        }
    }
}
