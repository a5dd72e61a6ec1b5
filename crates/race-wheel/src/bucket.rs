use alloc::vec::Vec;

use crate::{Item, table::grow};

/// The timers of a span of time, in no order.
pub(crate) struct Bucket {
    pub(crate) items: Vec<Item>,
    /// No item is earlier than this tick; one was just then, though it may be gone.
    pub(crate) earliest: u64,
}

/// A bucket that had room for so many keeps it.
const SMALL: usize = 32;

impl Default for Bucket {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            earliest: u64::MAX,
        }
    }
}

impl Bucket {
    #[inline]
    pub(crate) fn push(&mut self, tick: u64, item: Item) {
        self.earliest = self.earliest.min(tick);
        grow(&mut self.items);
        self.items.push(item);
    }

    /// Drops those that are dead, in order; tells how many. Without a branch for each, since which of them
    /// are dead is anyone's guess.
    pub(crate) fn retain(&mut self, is_live: impl Fn(Item) -> bool) -> usize {
        let mut kept = 0;
        for at in 0..self.items.len() {
            let item = self.items[at];
            self.items[kept] = item;
            kept += usize::from(is_live(item));
        }
        let dead = self.items.len() - kept;
        self.items.truncate(kept);
        dead
    }

    /// Forgets all items, and keeps memory for a few.
    pub(crate) fn clear(&mut self) {
        self.earliest = u64::MAX;
        self.items.clear();
        if self.items.capacity() > SMALL {
            self.items = Vec::new();
        }
    }

    /// Gives memory back if most of it is unused.
    pub(crate) fn trim(&mut self) {
        if self.items.capacity() > SMALL.max(4 * self.items.len()) {
            self.items.shrink_to(2 * self.items.len());
        }
    }
}
