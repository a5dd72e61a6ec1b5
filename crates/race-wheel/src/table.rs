use alloc::vec::Vec;
use core::{mem, num::NonZeroU64};

use crate::{Item, Key};

/// The values of the armed timers, at the indices of their keys, and vacant entries between them.
pub(crate) struct Table<V> {
    entries: Vec<Entry<V>>,
    /// The low eight bits of each entry's sequence number, inverted once the entry is removed.
    /// Small enough to stay in the processor's cache when the entries do not.
    tags: Vec<u8>,
    /// The head of the doubly linked list of vacant entries. The latest vacancy comes first.
    vacant: u32,
    len: usize,
    /// The sequence number of the latest insertion.
    seq: u64,
}

/// As large as a sequence number and a value, because the number is never zero.
enum Entry<V> {
    Vacant { before: u32, after: u32 },
    Occupied { seq: NonZeroU64, value: V },
}

/// No index.
const NONE: u32 = u32::MAX;
/// A table of up to this many entries is not shrunk.
const SMALL: usize = 64;
/// The most entries that one call of [`Table::trim`] removes.
const TRIMMED: usize = 4;

impl<V> Table<V> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            tags: Vec::new(),
            vacant: NONE,
            len: 0,
            seq: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    pub(crate) fn insert(&mut self, value: V) -> Key {
        let seq = self.next_seq();
        let entry = Entry::Occupied { seq, value };
        let index = self.vacant;
        if let Some(vacancy) = self.entries.get_mut(index as usize) {
            if let Entry::Vacant { after, .. } = mem::replace(vacancy, entry) {
                self.vacant = after;
                self.link(NONE, after);
            }
            self.tags[index as usize] = tag(seq.get());
            self.len += 1;
            return Key { seq, index };
        }
        let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
        assert!(index != NONE, "a wheel holds at most 4294967295 timers");
        grow(&mut self.entries);
        self.entries.push(entry);
        grow(&mut self.tags);
        self.tags.push(tag(seq.get()));
        self.len += 1;
        Key { seq, index }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<V> {
        let value = self.expire(key)?;
        self.tags[key.index as usize] = !tag(key.seq.get());
        Some(value)
    }

    /// Removes a value whose item has left the queue, so that its tag does not matter.
    pub(crate) fn expire(&mut self, key: Key) -> Option<V> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.seq() != key.seq.get() {
            return None;
        }
        let vacancy = Entry::Vacant {
            before: NONE,
            after: self.vacant,
        };
        let removed = mem::replace(entry, vacancy);
        if let Some(Entry::Vacant { before, .. }) = self.entries.get_mut(self.vacant as usize) {
            *before = key.index;
        }
        self.vacant = key.index;
        self.len -= 1;
        match removed {
            Entry::Occupied { value, .. } => Some(value),
            Entry::Vacant { .. } => None,
        }
    }

    /// Replaces the key of a value. The old key is stale afterwards.
    pub(crate) fn renew(&mut self, key: Key) -> Option<Key> {
        self.get(key)?;
        let renewed = self.next_seq();
        if let Some(Entry::Occupied { seq, .. }) = self.entries.get_mut(key.index as usize) {
            *seq = renewed;
            self.tags[key.index as usize] = tag(renewed.get());
        }
        let index = key.index;
        Some(Key {
            seq: renewed,
            index,
        })
    }

    pub(crate) fn get(&self, key: Key) -> Option<&V> {
        match self.entries.get(key.index as usize)? {
            Entry::Occupied { seq, value } if *seq == key.seq => Some(value),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        match self.entries.get_mut(key.index as usize)? {
            Entry::Occupied { seq, value } if *seq == key.seq => Some(value),
            _ => None,
        }
    }

    /// Returns whether the timer of this item is armed, and not rescheduled.
    pub(crate) fn is_live(&self, item: Item) -> bool {
        let entry = self.entries.get(item.index() as usize);
        entry.is_some_and(|entry| entry.seq() == item.seq())
    }

    /// Returns `false` only for a dead item. Cheaper than [`is_live`](Self::is_live): it reads only
    /// the tags.
    pub(crate) fn may_be_live(&self, item: Item) -> bool {
        let found = self.tags.get(item.index() as usize);
        found.is_some_and(|found| *found == tag(item.seq()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        (0..)
            .zip(&self.entries)
            .filter_map(|(index, entry)| match entry {
                Entry::Occupied { seq, value } => Some((Key { seq: *seq, index }, value)),
                Entry::Vacant { .. } => None,
            })
    }

    /// Removes a few vacant entries from the end if most of the table is vacant. Returns how many.
    pub(crate) fn trim(&mut self) -> usize {
        let mut trimmed = 0;
        while trimmed < TRIMMED && self.entries.len() > SMALL.max(4 * self.len) {
            let Some(&Entry::Vacant { before, after }) = self.entries.last() else {
                break;
            };
            self.entries.pop();
            self.tags.pop();
            self.link(before, after);
            trimmed += 1;
        }
        if trimmed > 0 && self.entries.capacity() > 4 * self.entries.len() {
            self.entries.shrink_to(2 * self.entries.len());
            self.tags.shrink_to(2 * self.entries.len());
        }
        trimmed
    }

    /// Gives all memory back if the table is empty, and not small.
    pub(crate) fn release(&mut self) {
        if self.len == 0 && self.entries.len() > SMALL {
            drop(self.take());
        }
    }

    /// Moves everything to a new table. Sequence numbers go on, so old keys are stale here.
    pub(crate) fn take(&mut self) -> Self {
        let seq = self.seq;
        mem::replace(self, Self { seq, ..Self::new() })
    }

    fn next_seq(&mut self) -> NonZeroU64 {
        self.seq += 1;
        assert!(
            self.seq >> Key::SEQ_BITS == 0,
            "a wheel allows fewer than 2^60 insertions"
        );
        NonZeroU64::new(self.seq).expect("counted from 1")
    }

    /// Links two vacancies. `NONE` stands for the head as the first, for the end as the second.
    fn link(&mut self, first: u32, second: u32) {
        match self.entries.get_mut(first as usize) {
            Some(Entry::Vacant { after, .. }) => *after = second,
            _ => self.vacant = second,
        }
        if let Some(Entry::Vacant { before, .. }) = self.entries.get_mut(second as usize) {
            *before = first;
        }
    }
}

impl<V> Entry<V> {
    /// The sequence number; zero if vacant, so that one comparison checks both.
    fn seq(&self) -> u64 {
        match self {
            Self::Occupied { seq, .. } => seq.get(),
            Self::Vacant { .. } => 0,
        }
    }
}

fn tag(seq: u64) -> u8 {
    seq as u8
}

/// Makes room for one more. A large vector grows by a third, so that at most a quarter is unused.
pub(crate) fn grow<T>(vec: &mut Vec<T>) {
    if vec.len() == vec.capacity() {
        let more = match vec.len() {
            0..4 => 4,
            len @ 4..256 => len,
            len => len / 3,
        };
        vec.reserve_exact(more);
    }
}

#[cfg(test)]
mod tests;
