//! The record of the copies that were in flight at the planned end of a leadership.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{entry::EntryChange, log::NodeName};
use hyper_delay_engine::scheduler::GoneCopy;
use hyper_delay_store::{
    Batch, Space, Store, StoreError,
    record::{self, Record, key},
};

/// The most copies that are passed on: those with the most time left. With ten bytes for each, the
/// entry is far below the limit of the log. For the others, the next leader waits for what the
/// nodes tell, as after every end of a leadership.
const MOST: usize = 16_384;

/// The copies that were in flight at the end of a leadership.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HandOverRecord {
    /// The place of its entry. It counts while that is the last one: later ones can have ended what
    /// was in flight.
    entry: u64,
    nodes: Vec<(NodeName, Vec<HandOverCopy>)>,
}

impl Record<'_> for HandOverRecord {}

/// A copy that was in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct HandOverCopy {
    /// The revision, less that of the copy before, or less the first number of the shard.
    seq: u64,
    attempt: u32,
    /// The time that was left to answer it, in milliseconds.
    left: u64,
}

/// A copy, the node of its connection, and the time that is left to answer it.
pub(in crate::shard) type HandOverInFlight = (NodeName, GoneCopy, Duration);

impl HandOverRecord {
    /// The copies that the entry at this place passes on. `first` is the first revision of the shard.
    pub(super) fn new(entry: u64, first: u64, mut copies: Vec<HandOverInFlight>) -> Self {
        copies.sort_unstable_by_key(|(_, _, left)| std::cmp::Reverse(*left));
        copies.truncate(MOST);
        copies.sort_unstable_by(|(one, a, _), (other, b, _)| {
            (one, a.seq, a.attempt).cmp(&(other, b.seq, b.attempt))
        });
        let mut nodes = BTreeMap::<NodeName, (u64, Vec<HandOverCopy>)>::new();
        for (node, GoneCopy { seq, attempt, .. }, left) in copies {
            let (before, handed) = nodes.entry(node).or_insert((first, Vec::new()));
            let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            handed.push(HandOverCopy {
                seq: seq.saturating_sub(*before),
                attempt,
                left: left.saturating_add(1),
            });
            *before = seq;
        }
        let nodes = nodes.into_iter().map(|(node, (_, handed))| (node, handed));
        Self {
            entry,
            nodes: nodes.collect(),
        }
    }

    /// Returns what the entry at this place passes on, if anything.
    pub(super) fn read(store: &impl Store, entry: u64) -> Result<Option<Self>, StoreError> {
        let Some(row) = store.get(Space::Meta, key::HANDED_OVER)? else {
            return Ok(None);
        };
        let handed_over: Self = record::decode(&row)?;
        Ok(Some(handed_over).filter(|it| it.entry == entry))
    }

    /// Returns the contents of the entry.
    pub(super) fn into_change(self) -> EntryChange {
        let mut batch = Batch::new();
        batch.put(Space::Meta, key::HANDED_OVER, record::encode(&self));
        EntryChange::Writes(batch)
    }

    pub(super) fn into_copies(self, first: u64) -> impl Iterator<Item = HandOverInFlight> {
        self.nodes.into_iter().flat_map(move |(node, handed)| {
            let mut seq = first;
            handed.into_iter().map(move |copy| {
                seq = seq.saturating_add(copy.seq);
                let left = Duration::from_millis(copy.left);
                (
                    node.clone(),
                    copy_of_earlier_leader(seq, copy.attempt),
                    left,
                )
            })
        })
    }
}

/// A copy of an earlier leader: if it is gone, its round has not failed.
pub(in crate::shard) const fn copy_of_earlier_leader(seq: u64, attempt: u32) -> GoneCopy {
    GoneCopy {
        seq,
        attempt,
        has_failed: false,
    }
}

/// Returns how many copies an entry passes on.
#[cfg(test)]
pub(crate) fn handed_over_copies(entry: &[u8]) -> usize {
    let Ok((_, EntryChange::Writes(batch))) = crate::entry::decode(entry) else {
        return 0;
    };
    let mut rows = batch.into_writes();
    let row = rows.find(|(_, key, _)| **key == *key::HANDED_OVER);
    let Some((_, _, Some(row))) = row else {
        return 0;
    };
    let handed_over: HandOverRecord = record::decode(&row).expect("it was encoded");
    handed_over.into_copies(0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_store::{Durability, fake::Fake};

    fn copy(node: &str, seq: u64, attempt: u32, left: u64) -> HandOverInFlight {
        let left = Duration::from_millis(left);
        (node.into(), copy_of_earlier_leader(seq, attempt), left)
    }

    #[test]
    fn what_is_passed_on_is_read_as_it_was_with_the_time_rounded_up() {
        let first = 1 << 58;
        let copies = vec![
            copy("b", first + 9, 4, 30_000),
            copy("a", first + 700, 1, 5),
            copy("a", first + 3, 2, 0),
            copy("a", first + 3, 2, 7),
        ];
        let handed_over = HandOverRecord::new(12, first, copies);
        let row = record::encode(&handed_over);
        let read: HandOverRecord = record::decode(&row).unwrap();
        assert_eq!(read.entry, 12);
        let mut read: Vec<_> = read.into_copies(first).collect();
        read.sort();
        let mut expected = vec![
            copy("a", first + 3, 2, 1),
            copy("a", first + 3, 2, 8),
            copy("a", first + 700, 1, 6),
            copy("b", first + 9, 4, 30_001),
        ];
        expected.sort();
        assert_eq!(read, expected);
    }

    #[test]
    fn the_copies_with_the_most_time_left_are_passed_on_in_few_bytes() {
        let many = u64::try_from(MOST).unwrap() + 1_000;
        let copies = (0..many).map(|seq| copy("a", 20 + seq * 50, 1, seq));
        let handed_over = HandOverRecord::new(1, 0, copies.collect());
        let row = record::encode(&handed_over);
        assert!(row.len() < MOST * 5, "{} bytes", row.len());
        let least = handed_over.into_copies(0).map(|(_, _, left)| left).min();
        assert_eq!(least, Some(Duration::from_millis(1_001)));
    }

    #[test]
    fn a_record_counts_only_while_its_entry_is_the_last_one() {
        let store = Fake::default();
        assert_eq!(HandOverRecord::read(&store, 12).unwrap(), None);
        let handed_over = HandOverRecord::new(12, 0, vec![copy("a", 3, 1, 5)]);
        let EntryChange::Writes(batch) = handed_over.clone().into_change() else {
            panic!("a batch");
        };
        store.commit(batch, Durability::Synced).unwrap();
        let read = |entry| HandOverRecord::read(&store, entry).unwrap();
        assert_eq!(read(12), Some(handed_over));
        assert_eq!(read(13), None);
    }
}
