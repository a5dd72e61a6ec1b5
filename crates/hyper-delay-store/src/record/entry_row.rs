use super::{Place, TaskEntry, decode, decode_dead, key};
use crate::{Space, StoreError};

/// An entry with the task and the place that its key names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow<'a> {
    /// The sequence number of the task.
    pub seq: u64,
    /// The space of the entry and its time.
    pub place: Place,
    /// The entry.
    pub entry: TaskEntry<'a>,
    /// The reason for the death of a dead letter, if one is stored.
    pub reason: Option<&'a str>,
}

impl<'a> EntryRow<'a> {
    /// Reads a row of `waiting`, `parked` or `dead`.
    ///
    /// # Errors
    ///
    /// If the row cannot be decoded, or its value belongs to another key.
    pub fn read(space: Space, key: &[u8], value: &'a [u8]) -> Result<Self, StoreError> {
        let (entry, reason): (TaskEntry<'_>, _) = match space {
            Space::Dead => decode_dead(value)?,
            _ => (decode(value)?, None),
        };
        if entry.route.len() > key::LONGEST_ROUTE {
            let damage = format!("its route has {} bytes", entry.route.len());
            return Err(StoreError::damage("read an entry", damage));
        }
        let (at, seq) = key::time_of(key)?;
        let place = match space {
            Space::Waiting => Place::Waiting(at),
            Space::Parked => Place::Parked(at),
            _ => Place::Dead(at),
        };
        let is_its_key = match (space, &key[..key.len() - 16]) {
            (Space::Waiting, before) => before.is_empty(),
            (_, [length, route @ ..]) => {
                usize::from(*length) == route.len() && route == entry.route.as_bytes()
            }
            (_, []) => false,
        };
        if !is_its_key {
            let damage = "it belongs to another key";
            return Err(StoreError::damage("read an entry", damage));
        }
        Ok(Self {
            seq,
            place,
            entry,
            reason,
        })
    }
}
