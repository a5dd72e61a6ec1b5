use alloc::vec::Vec;
use core::mem;

use crate::{Item, table::grow};

/// The items of one span of time. They leave from the front, a chunk at a time.
pub(crate) struct Bucket {
    /// Those before `front` have left.
    items: Vec<Item>,
    front: usize,
    /// No item is earlier. One was exactly then, but may have been swept since.
    pub(crate) earliest: u64,
    /// Whether the items are in order of insertion. Only the sweep changes that.
    pub(crate) in_order: bool,
}

/// What one call of [`Bucket::take_chunk`] took.
pub(crate) struct Chunk<'a> {
    pub(crate) live: &'a mut [Item],
    /// The number of dead items that were dropped.
    pub(crate) dead: usize,
    /// Whether the chunk is all that was ever in the bucket.
    pub(crate) is_whole: bool,
}

/// A bucket keeps memory for this many items.
const SMALL: usize = 32;

impl Default for Bucket {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            front: 0,
            earliest: u64::MAX,
            in_order: true,
        }
    }
}

impl Bucket {
    /// The number of items taken from a bucket at a time.
    pub(crate) const CHUNK: usize = 256;

    #[inline]
    pub(crate) fn push(&mut self, time: u64, item: Item) {
        self.earliest = self.earliest.min(time);
        grow(&mut self.items);
        self.items.push(item);
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.front
    }

    /// Takes up to [`CHUNK`](Self::CHUNK) items from the front, and drops the dead ones among them.
    pub(crate) fn take_chunk(&mut self, is_live: impl Fn(Item) -> bool) -> Chunk<'_> {
        let from = self.front;
        let to = self.items.len().min(from + Self::CHUNK);
        // No branch per item: whether an item is dead cannot be predicted.
        let mut kept = from;
        for index in from..to {
            let item = self.items[index];
            self.items[kept] = item;
            kept += usize::from(is_live(item));
        }
        self.front = to;
        Chunk {
            is_whole: from == 0 && to == self.items.len(),
            live: &mut self.items[from..kept],
            dead: to - kept,
        }
    }

    /// The item at `index`, counted from the front.
    pub(crate) fn get(&self, index: usize) -> Option<Item> {
        self.items.get(self.front + index).copied()
    }

    /// Removes the item at `index`, counted from the front. The last item takes its place.
    pub(crate) fn swap_remove(&mut self, index: usize) {
        self.items.swap_remove(self.front + index);
        self.in_order = false;
    }

    /// Removes all items and keeps memory for a few.
    pub(crate) fn clear(&mut self) {
        let mut items = mem::take(&mut self.items);
        items.clear();
        if items.capacity() > SMALL {
            items = Vec::new();
        }
        *self = Self {
            items,
            ..Self::default()
        };
    }

    /// Gives memory back if most of it is unused.
    pub(crate) fn trim(&mut self) {
        if self.items.capacity() > SMALL.max(4 * self.items.len()) {
            self.items.shrink_to(2 * self.items.len());
        }
    }
}
