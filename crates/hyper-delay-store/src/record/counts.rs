use serde::{Deserialize, Serialize};

use super::{Name, Place, Record};

/// Number of stored tasks of a route, by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCounts {
    /// Waiting for their time, or in flight.
    pub waiting: u64,
    /// Due, and without a consumer.
    pub parked: u64,
    /// Dead letters.
    pub dead: u64,
    /// Bytes of the payloads of the waiting and parked tasks, but for those whose [`Name`] was
    /// written by an older server.
    #[serde(deserialize_with = "super::missing_as_zero")]
    pub bytes: u64,
}

impl Record<'_> for StoredCounts {}

impl StoredCounts {
    /// Returns whether all counts are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of tasks.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.waiting + self.parked + self.dead
    }

    /// Counts a task.
    pub const fn add(&mut self, name: &Name) {
        let count = self.count_mut(name.place);
        *count = count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(name.pending_bytes());
    }

    /// Adds other counts.
    pub const fn merge(&mut self, other: &Self) {
        self.waiting = self.waiting.wrapping_add(other.waiting);
        self.parked = self.parked.wrapping_add(other.parked);
        self.dead = self.dead.wrapping_add(other.dead);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    /// Takes tasks that were counted out of the counts.
    pub const fn subtract(&mut self, other: &Self) {
        self.waiting = self.waiting.wrapping_sub(other.waiting);
        self.parked = self.parked.wrapping_sub(other.parked);
        self.dead = self.dead.wrapping_sub(other.dead);
        self.bytes = self.bytes.wrapping_sub(other.bytes);
    }

    /// Returns the numbers of waiting, parked and dead tasks.
    #[must_use]
    pub const fn tasks(&self) -> [u64; 3] {
        [self.waiting, self.parked, self.dead]
    }

    /// Returns the count that includes a task of this state.
    const fn count_mut(&mut self, place: Place) -> &mut u64 {
        match place {
            Place::Waiting(_) => &mut self.waiting,
            Place::Parked(_) => &mut self.parked,
            Place::Dead(_) => &mut self.dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    fn name(place: Place, bytes: u64) -> Name {
        Name {
            seq: 1,
            fire_at: 2,
            place,
            attempt: 3,
            failures: 4,
            digest: [5; 16],
            bytes,
            terms: None,
            failure: None,
        }
    }

    #[test]
    fn bytes_are_those_of_pending_tasks() {
        let mut counts = StoredCounts::default();
        for place in [Place::Waiting(1), Place::Parked(1), Place::Dead(1)] {
            counts.add(&name(place, 10));
        }
        assert_eq!((counts.tasks(), counts.bytes), ([1, 1, 1], 20));
        let before = counts;
        counts.subtract(&before);
        assert!(counts.is_empty());
    }

    #[test]
    fn records_of_older_servers_have_no_bytes_and_they_read_those_of_this_one() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Old {
            waiting: u64,
            parked: u64,
            dead: u64,
        }
        impl Record<'_> for Old {}
        let old = Old {
            waiting: 1,
            parked: 300,
            dead: 3,
        };
        let read: StoredCounts = record::decode(&record::encode(&old)).unwrap();
        assert_eq!((read.tasks(), read.bytes), ([1, 300, 3], 0));
        let new = record::encode(&StoredCounts { bytes: 7, ..read });
        assert_eq!(record::decode::<Old>(&new).unwrap(), old);
        assert_eq!(record::decode::<StoredCounts>(&new).unwrap().bytes, 7);
        let whole = record::encode(&name(Place::Parked(9), 0));
        let cut = &whole[..whole.len() - 1];
        assert_eq!(
            record::decode::<Name>(cut).unwrap(),
            name(Place::Parked(9), 0)
        );
    }
}
