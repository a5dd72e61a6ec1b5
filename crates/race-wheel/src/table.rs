use alloc::vec::Vec;
use core::{mem, num::NonZeroU64};

use crate::{Item, Key};

/// The values, where their keys say, and the vacancies between them.
pub(crate) struct Table<V> {
    entries: Vec<Entry<V>>,
    /// For each entry the last eight bits of its sequence number; others than it had, once it is removed.
    /// So small that most of it is in the processor's cache, when the entries are not.
    tags: Vec<u8>,
    /// The first of the vacancies, a list linked both ways; the latest to become vacant is the first.
    vacant: u32,
    len: usize,
    /// The sequence number of the latest insertion.
    seq: u64,
}

/// As large as a number and a value, since zero is no sequence number.
enum Entry<V> {
    Vacant { before: u32, after: u32 },
    Occupied { seq: NonZeroU64, value: V },
}

/// No index.
const NONE: u32 = u32::MAX;
/// A table of so many entries stays as it is.
const SMALL: usize = 64;
/// How many vacancies at the end one removal gives back at most.
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
        assert!(index != NONE, "a wheel holds fewer than 4294967295 timers");
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

    /// Removes one that nothing tells of any more, so that its tag does not matter.
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

    /// Another key for the same value: the old one is stale.
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

    /// Whether the timer of this item is still armed, and for this item's tick.
    pub(crate) fn is_live(&self, item: Item) -> bool {
        let entry = self.entries.get(item.index() as usize);
        entry.is_some_and(|entry| entry.seq() == item.seq())
    }

    /// `false` only for what is dead. Cheaper than [`is_live`](Self::is_live), and seldom wrong.
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

    /// Gives memory back, a few entries at a time, when most of the table is vacant. Only vacancies at
    /// the end can go.
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

    /// Gives all memory back if nothing is in the table, and it is not small.
    pub(crate) fn release(&mut self) {
        if self.len == 0 && self.entries.len() > SMALL {
            drop(self.take());
        }
    }

    /// Empties the table; keys given out before stay stale.
    pub(crate) fn take(&mut self) -> Self {
        let seq = self.seq;
        mem::replace(self, Self { seq, ..Self::new() })
    }

    fn next_seq(&mut self) -> NonZeroU64 {
        self.seq += 1;
        assert!(
            self.seq >> Key::SEQ_BITS == 0,
            "a wheel is good for 2^60 insertions"
        );
        NonZeroU64::new(self.seq).expect("counted from 1")
    }

    /// Makes two vacancies neighbours; `NONE` is the list's head, or its end.
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
    /// Zero for a vacancy, so that one comparison tells.
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

/// Makes room for one more. Doubling leaves half empty at worst; from some size on, a quarter.
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
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_as_large_as_its_value_and_a_number() {
        assert_eq!(size_of::<Entry<u64>>(), 16);
        assert_eq!(size_of::<Entry<[u64; 4]>>(), 40);
        assert_eq!(size_of::<Option<Key>>(), 16);
    }

    #[test]
    fn the_latest_vacancy_is_used_first() {
        let mut table = Table::new();
        let keys: Vec<_> = (0..10).map(|value| table.insert(value)).collect();
        for key in [3, 9, 5] {
            table.remove(keys[key]);
        }
        let places = [1, 2, 3, 4].map(|value| table.insert(value).index);
        assert_eq!(places, [5, 9, 3, 10]);
    }

    #[test]
    fn vacancies_at_the_end_go_and_those_before_are_used_again() {
        let mut table = Table::new();
        let keys: Vec<_> = (0..1_000).map(|value| table.insert(value)).collect();
        // From the middle outwards, so that those at the end are not the latest.
        for offset in 0..500 {
            for index in [499 - offset, 500 + offset] {
                if ![7, 300].contains(&index) {
                    table.remove(keys[index]);
                }
                assert!(table.trim() <= TRIMMED);
            }
        }
        while table.trim() > 0 {}
        assert_eq!(
            (table.len(), table.entries.len(), table.tags.len()),
            (2, 301, 301)
        );
        assert!(table.entries.capacity() <= 1_204);
        let mut places: Vec<_> = (0..300).map(|value| table.insert(value).index).collect();
        places.sort_unstable();
        let vacant = (0..300).filter(|index| *index != 7);
        assert!(places.into_iter().eq(vacant.chain([301])));
    }

    #[test]
    fn a_tag_tells_the_living_from_the_dead() {
        let mut table = Table::new();
        let item = |key| Item::new(0, key);
        let old = table.insert('a');
        assert!(table.is_live(item(old)) && table.may_be_live(item(old)));
        let new = table.renew(old).expect("it is there");
        assert!(!table.is_live(item(old)) && !table.may_be_live(item(old)));
        assert!(table.is_live(item(new)) && table.may_be_live(item(new)));
        table.remove(new);
        assert!(!table.is_live(item(new)) && !table.may_be_live(item(new)));
        let next = table.insert('b');
        assert_eq!(next.index, new.index);
        assert!(table.is_live(item(next)) && table.may_be_live(item(next)));
        assert_eq!(table.expire(next), Some('b'));
        let last = table.insert('c');
        assert!(table.is_live(item(last)) && table.may_be_live(item(last)));
    }
}
