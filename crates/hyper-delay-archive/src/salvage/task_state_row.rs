use hyper_delay_protocol::LastFailure;
use hyper_delay_store::{
    Space, StoreError,
    record::{self, Digest, EntryRow, Name, Place, key},
};

use super::row::LiveRow;

/// The state of a task according to one row of `names`, `waiting`, `parked` or `dead`. Many are in
/// memory at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskStateRow {
    /// The sequence number of the task.
    pub(super) seq: u64,
    pub(super) space: Space,
    /// The sequence number of the commit that wrote the row.
    pub(super) seqno: u64,
    /// The route and the id.
    name: Box<str>,
    route_length: usize,
    pub(super) place: Place,
    pub(super) attempt: u32,
    pub(super) failures: u32,
    /// The digest of the content. `None` unless the row is in `names`.
    pub(super) digest: Option<Digest>,
    /// The reason for its death. `None` unless the row is in `dead`.
    pub(super) reason: Option<Box<str>>,
    /// Its last failure. `None` unless the row is in `names`.
    pub(super) failure: Option<Box<LastFailure>>,
}

impl TaskStateRow {
    /// The spaces whose rows contain the states of tasks.
    pub(super) const SPACES: [Space; 4] =
        [Space::Names, Space::Waiting, Space::Parked, Space::Dead];

    /// Returns the sequence number of the task that a row of one of these spaces is about.
    pub(super) fn seq_of(space: Space, row: &LiveRow) -> Result<u64, StoreError> {
        match space {
            Space::Names => Ok(record::decode::<Name>(&row.value)?.seq),
            _ => Ok(key::time_of(&row.key)?.1),
        }
    }

    /// Reads a row of one of these spaces.
    pub(super) fn read(space: Space, row: &LiveRow) -> Result<Self, StoreError> {
        if space == Space::Names {
            return Self::of_name(row);
        }
        let EntryRow {
            seq,
            place,
            entry,
            reason,
        } = EntryRow::read(space, &row.key, &row.value)?;
        Ok(Self {
            seq,
            space,
            seqno: row.seqno,
            name: [entry.route, entry.id].concat().into(),
            route_length: entry.route.len(),
            place,
            attempt: entry.attempt,
            failures: entry.failures,
            digest: None,
            reason: reason.map(Box::from),
            failure: None,
        })
    }

    fn of_name(row: &LiveRow) -> Result<Self, StoreError> {
        let name: Name = record::decode(&row.value)?;
        let (route, id) = key::name_of(&row.key)
            .ok_or_else(|| StoreError::damage("read a name", "the key is malformed"))?;
        Ok(Self {
            seq: name.seq,
            space: Space::Names,
            seqno: row.seqno,
            name: [route, id].concat().into(),
            route_length: route.len(),
            place: name.place,
            attempt: name.attempt,
            failures: name.failures,
            digest: Some(name.digest),
            reason: None,
            failure: name.failure,
        })
    }

    pub(super) fn route(&self) -> &str {
        &self.name[..self.route_length]
    }

    pub(super) fn id(&self) -> &str {
        &self.name[self.route_length..]
    }

    /// Returns the rank of a state row of a task. The newest row ranks highest; among equally new
    /// ones, that of `names`.
    pub(super) fn rank(&self) -> (u64, bool) {
        (self.seqno, self.space == Space::Names)
    }

    /// Returns whether the task had no further round and was not kicked between this row and a newer
    /// one. If so, the failure of this row is its last one.
    pub(super) fn has_rounds_of(&self, newer: &Self) -> bool {
        let is_dead = |row: &Self| matches!(row.place, Place::Dead(_));
        let is_kicked = is_dead(self) && !is_dead(newer);
        (self.attempt, self.failures) == (newer.attempt, newer.failures) && !is_kicked
    }

    /// Returns whether both rows give the task the same name and state.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        (self.route(), self.id(), self.place) == (other.route(), other.id(), other.place)
            && (self.attempt, self.failures) == (other.attempt, other.failures)
    }
}
