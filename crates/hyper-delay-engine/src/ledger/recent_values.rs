use std::collections::HashMap;

use crate::key_hash::KeyHash;
use crate::sizes::{Size, Sizes};
use hyper_delay_store::{Bytes, Space, record::key};

/// The last values of the keys that were written recently, those of uncommitted batches included.
///
/// Two generations take turns, so forgetting costs no bookkeeping per key: once the young one is
/// full and all batches in the old one are committed, the old one is dropped. A generation may grow
/// over its size by a batch or two.
#[derive(Debug)]
pub(super) struct RecentValues {
    sizes: Sizes,
    young: ValueGeneration,
    old: ValueGeneration,
    /// The number of batches that are committed.
    committed: u64,
}

#[derive(Debug, Default)]
struct ValueGeneration {
    spaces: [HashMap<Bytes, Option<Bytes>, KeyHash>; RecentValues::KEPT],
    /// The number of the last batch with a value in here.
    last: u64,
}

impl RecentValues {
    /// The number of spaces whose values are kept: names, both generations of the deduplication
    /// window, counts, and of `meta` the rows of retrying tasks. The ledger reads no others after it
    /// is open.
    const KEPT: usize = 5;

    pub(super) fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            young: ValueGeneration::default(),
            old: ValueGeneration::default(),
            committed: 0,
        }
    }

    /// Returns the value of a key, or its absence, if it is known.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Option<Option<&Bytes>> {
        let index = index(space, key).expect("the ledger reads only the spaces that are kept");
        let [young, old] = [&self.young, &self.old].map(|kept| &kept.spaces[index]);
        young.get(key).or_else(|| old.get(key)).map(Option::as_ref)
    }

    /// Returns the known keys of a space.
    pub(super) fn keys(&self, space: Space) -> impl Iterator<Item = &Bytes> {
        let index = index(space, &[]).expect("the ledger reads only the spaces that are kept");
        let generations = [&self.young, &self.old].into_iter();
        generations.flat_map(move |kept| kept.spaces[index].keys())
    }

    /// Keeps a value of the batch with this number, if the space is kept.
    pub(super) fn insert(
        &mut self,
        (space, key): (Space, &Bytes),
        batch: u64,
        value: impl FnOnce() -> Option<Bytes>,
    ) {
        let Some(index) = index(space, key) else {
            return;
        };
        if self.young.len() >= self.sizes.recent_values && self.old.last <= self.committed {
            (self.sizes.reached)(Size::RecentValues);
            // The cleared maps keep their memory.
            std::mem::swap(&mut self.old, &mut self.young);
            self.young.spaces.iter_mut().for_each(HashMap::clear);
        }
        self.young.spaces[index].insert(key.clone(), value());
        self.young.last = batch;
    }

    /// Forgets a space, which was cleared.
    pub(super) fn clear(&mut self, space: Space) {
        let index = index(space, &[]).expect("the ledger clears only spaces that are kept");
        for generation in [&mut self.young, &mut self.old] {
            generation.spaces[index].clear();
        }
    }

    /// Notes that the first `batches` batches are in the store.
    pub(super) fn committed(&mut self, batches: u64) {
        self.committed = batches;
    }
}

impl ValueGeneration {
    fn len(&self) -> usize {
        self.spaces.iter().map(HashMap::len).sum()
    }
}

fn index(space: Space, key: &[u8]) -> Option<usize> {
    match space {
        Space::Names => Some(0),
        Space::DoneEven => Some(1),
        Space::DoneOdd => Some(2),
        Space::Counts => Some(3),
        Space::Meta if key.starts_with(key::RETRYING_PREFIX) => Some(4),
        _ => None,
    }
}
