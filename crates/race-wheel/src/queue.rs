use alloc::{collections::BTreeMap, vec::Vec};
use core::num::NonZeroU64;

use crate::{Item, Key, levels::Levels, sweep::Sweep, table::Table};

/// In which order timers expire: by tick, then by insertion. It knows no values, only which timers there
/// were; those that are cancelled stay for a while, dead.
///
/// Three parts. Of those that share a tick, the ones in `near` were inserted first, then those in `levels`,
/// then those in `past`: a bucket leaves the levels for `near` with all that it has, and a tick is past
/// only when its bucket has left.
pub(crate) struct Queue {
    /// What is next, sorted, the earliest last. All on the page of the position.
    near: Vec<Item>,
    pub(crate) levels: Levels,
    /// What was inserted for ticks up to the position.
    past: Past,
    /// Of all parts, the dead included.
    len: usize,
    sweep: Sweep,
}

/// By tick and sequence number: where.
pub(crate) type Past = BTreeMap<(u64, NonZeroU64), u32>;

/// `near` keeps room for so many.
const SMALL: usize = 256;

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            near: Vec::new(),
            levels: Levels::new(),
            past: Past::new(),
            len: 0,
            sweep: Sweep::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn insert(&mut self, tick: u64, key: Key) {
        self.len += 1;
        if tick > self.levels.position() {
            self.levels.insert(tick, Item::new(tick, key));
        } else {
            self.past.insert((tick, key.seq), key.index);
        }
    }

    /// No timer is earlier than this tick; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.near_tick()
            .min(self.levels.earliest())
            .min(self.past_tick())
    }

    /// The next timer whose tick is `until` or earlier, dead or not. `until` is less than `u64::MAX`.
    pub(crate) fn pop<V>(&mut self, until: u64, table: &Table<V>) -> Option<Key> {
        loop {
            let (near, level, past) = (self.near_tick(), self.levels.earliest(), self.past_tick());
            if near.min(level).min(past) > until {
                return None;
            }
            if near <= level && near <= past {
                self.len -= 1;
                return self.near.pop().map(Item::key);
            }
            if level <= past {
                self.len -= self.levels.open(&mut self.near, table);
            } else {
                self.len -= 1;
                let ((_, seq), index) = self.past.pop_first()?;
                return Some(Key { seq, index });
            }
        }
    }

    /// Tells what time it is. With nothing to pass over, the position follows, so that what is inserted
    /// next lies low.
    #[inline]
    pub(crate) fn skip_to(&mut self, tick: u64) {
        if self.len == 0 {
            self.levels.skip_to(tick);
        }
    }

    /// Drops a few of the dead, if they are more than half; tells how many steps it took.
    pub(crate) fn sweep<V>(&mut self, table: &Table<V>) -> usize {
        let mut steps = 0;
        while steps < Sweep::STEPS && 2 * (self.len - table.len()) > self.len + Sweep::SLACK {
            let dropped = self.sweep.step(&mut self.levels, &mut self.past, table);
            self.len -= usize::from(dropped);
            steps += 1;
        }
        steps
    }

    /// Gives memory back after a burst.
    pub(crate) fn trim(&mut self) {
        if self.near.capacity() > SMALL.max(4 * self.near.len()) {
            self.near.shrink_to(2 * self.near.len());
        }
    }

    #[inline]
    fn near_tick(&self) -> u64 {
        let page = self.levels.position();
        self.near.last().map_or(u64::MAX, |item| item.tick(page))
    }

    #[inline]
    fn past_tick(&self) -> u64 {
        let first = self.past.first_key_value();
        first.map_or(u64::MAX, |((tick, _), _)| *tick)
    }
}
