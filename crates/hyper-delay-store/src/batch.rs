use super::{Bytes, Space};

/// Puts and removals that take effect together. The last one of a key counts.
#[derive(Debug, Default)]
pub struct Batch {
    writes: [Vec<(Bytes, Option<Bytes>)>; Space::ALL.len()],
    schedules: u64,
    removals: u64,
    waiting_changes: Vec<WaitingChange>,
    /// Bytes of the keys and values, those of writes that others replace included.
    bytes: usize,
}

/// A change of the waiting tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingChange {
    /// When the task is due, in Unix milliseconds.
    pub at: u64,
    /// The sequence number of the task.
    pub seq: u64,
    /// Whether the task starts to wait; `false` if it stops waiting.
    pub is_new: bool,
}

impl Batch {
    /// Creates an empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty batch with the capacity for as many writes as `other` has.
    #[must_use]
    pub fn sized_like(other: &Self) -> Self {
        Self {
            writes: std::array::from_fn(|space| Vec::with_capacity(other.writes[space].len())),
            ..Self::default()
        }
    }

    /// Sets a key.
    pub fn put(&mut self, space: Space, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (key, value) = (key.into(), value.into());
        self.bytes += key.len() + value.len();
        self.writes[space as usize].push((key, Some(value)));
    }

    /// Removes a key if it is there.
    pub fn remove(&mut self, space: Space, key: impl Into<Bytes>) {
        let key = key.into();
        self.bytes += key.len();
        self.writes[space as usize].push((key, None));
    }

    /// Counts a task, or a revision of one, that the batch schedules.
    pub fn count_schedule(&mut self) {
        self.schedules += 1;
    }

    /// Counts a task, or a revision of one, that the batch removes.
    pub fn count_removal(&mut self) {
        self.removals += 1;
    }

    /// Returns the counted schedules and removals.
    #[must_use]
    pub const fn counted(&self) -> (u64, u64) {
        (self.schedules, self.removals)
    }

    /// Notes a change of the waiting tasks.
    pub fn note_waiting_change(&mut self, change: WaitingChange) {
        self.waiting_changes.push(change);
    }

    /// Takes the changes of the waiting tasks, in order.
    #[must_use]
    pub fn take_waiting_changes(&mut self) -> Vec<WaitingChange> {
        std::mem::take(&mut self.waiting_changes)
    }

    /// Returns whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.iter().all(Vec::is_empty)
    }

    /// Returns whether the batch changes a space.
    #[must_use]
    pub fn touches(&self, space: Space) -> bool {
        !self.writes[space as usize].is_empty()
    }

    /// Returns an upper limit for the number of its writes.
    pub fn len(&self) -> usize {
        self.writes.iter().map(Vec::len).sum()
    }

    /// Returns the last write of each key, space by space, in the order of the keys. A sorted store
    /// inserts adjacent keys faster than scattered ones.
    pub fn into_writes(mut self) -> impl Iterator<Item = (Space, Bytes, Option<Bytes>)> {
        self.keep_last_writes();
        let spaces = Space::ALL.into_iter().zip(self.writes);
        spaces.flat_map(|(space, writes)| {
            let writes = writes.into_iter();
            writes.map(move |(key, value)| (space, key, value))
        })
    }

    /// Sorts the writes and drops those that others replace.
    fn keep_last_writes(&mut self) {
        for writes in &mut self.writes {
            // Stable, so the writes of one key keep their order.
            writes.sort_by(|(one, _), (other, _)| one[..].cmp(&other[..]));
            writes.dedup_by(|later, kept| {
                let is_same = later.0 == kept.0;
                if is_same {
                    std::mem::swap(later, kept);
                }
                is_same
            });
        }
    }
}

/// The parts of a batch that an entry of a journal contains.
impl Batch {
    /// Adds the writes of a later batch.
    pub fn append(&mut self, later: Self) {
        let Self {
            writes,
            schedules,
            removals,
            waiting_changes,
            bytes,
        } = later;
        for (earlier, later) in self.writes.iter_mut().zip(writes) {
            earlier.extend(later);
        }
        self.schedules += schedules;
        self.removals += removals;
        self.waiting_changes.extend(waiting_changes);
        self.bytes += bytes;
    }

    /// Returns the bytes of its keys and values, those of writes that others replace included.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the last write of each key, like [`into_writes`](Self::into_writes).
    pub fn last_writes(&mut self) -> impl Iterator<Item = (Space, &[u8], Option<&[u8]>)> {
        self.keep_last_writes();
        let spaces = Space::ALL.into_iter().zip(&self.writes);
        spaces.flat_map(|(space, writes)| {
            let writes = writes.iter();
            writes.map(move |(key, value)| (space, &**key, value.as_deref()))
        })
    }

    /// Counts what another node's batch has counted.
    pub const fn count(&mut self, (schedules, removals): (u64, u64)) {
        self.schedules += schedules;
        self.removals += removals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_of_each_key_remains_in_the_order_of_keys() {
        let mut batch = Batch::new();
        for (key, value) in [("b", "1"), ("a", "1"), ("b", "2"), ("c", "1"), ("b", "3")] {
            batch.put(Space::Names, key.as_bytes(), value.as_bytes());
        }
        batch.remove(Space::Names, *b"c");
        batch.remove(Space::Names, *b"a");
        batch.put(Space::Names, *b"a", *b"2");
        batch.put(Space::Meta, *b"a", *b"meta");
        let writes: Vec<_> = batch.into_writes().collect();
        let expected = [
            (Space::Names, "a", Some("2")),
            (Space::Names, "b", Some("3")),
            (Space::Names, "c", None),
            (Space::Meta, "a", Some("meta")),
        ];
        let expected = expected.map(|(space, key, value)| {
            (
                space,
                key.as_bytes().into(),
                value.map(|value| value.as_bytes().into()),
            )
        });
        assert_eq!(writes, expected);
    }
}
