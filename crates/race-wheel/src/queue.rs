use alloc::vec::Vec;

use crate::{Item, Key, levels::Levels, past::Past, sweep::Sweep, table::Table};

/// The order in which timers expire: by time, then by insertion.
///
/// Times are deadlines divided by the resolution, rounded up. The queue holds no values, only keys.
/// A cancelled timer is dead; its item stays until it is reached or swept.
///
/// There are three parts. Of timers with the same time, those in `near` were inserted first, then
/// those in `levels`, then those in `past`: a bucket leaves the levels from its front, and a time
/// belongs to `past` only once its bucket is open.
pub(crate) struct Queue {
    /// The next timers, the earliest last. All are on the page of the levels' floor.
    near: Vec<Item>,
    pub(crate) levels: Levels,
    /// Timers inserted for times up to the floor.
    past: Past,
    /// The number of items in all parts, dead ones included.
    len: usize,
    sweep: Sweep,
    /// The number of items that were looked at.
    #[cfg(test)]
    pub(crate) looked_at: usize,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            near: Vec::new(),
            levels: Levels::new(),
            past: Past::new(),
            len: 0,
            sweep: Sweep::new(),
            #[cfg(test)]
            looked_at: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn insert(&mut self, time: u64, key: Key) {
        self.len += 1;
        if time > self.levels.floor() {
            self.levels.insert(time, Item::new(time, key));
        } else {
            self.past.insert((time, key.seq), key.index);
        }
    }

    /// No timer is earlier than this time; `u64::MAX` without timers.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.near_time()
            .min(self.levels.earliest())
            .min(self.past_time())
    }

    /// Removes the next timer whose time is `until` or earlier, dead or alive. `until` is less than
    /// `u64::MAX`.
    ///
    /// Subtracts the number of items looked at from `steps`, and returns `None` once none are left.
    /// The last step may be a whole chunk.
    pub(crate) fn pop<V>(
        &mut self,
        until: u64,
        table: &Table<V>,
        steps: &mut usize,
    ) -> Option<Key> {
        while *steps > 0 {
            let (near, level, past) = (self.near_time(), self.levels.earliest(), self.past_time());
            if near.min(level).min(past) > until {
                return None;
            }
            if near > level && level <= past {
                let opened = self.levels.open(&mut self.near, &mut self.past, table);
                self.len -= opened.dead;
                self.count(opened.taken, steps);
                continue;
            }
            self.len -= 1;
            self.count(1, steps);
            if near <= past {
                return self.near.pop().map(Item::key);
            }
            let ((_, seq), index) = self.past.pop_first()?;
            return Some(Key { seq, index });
        }
        None
    }

    #[inline]
    fn count(&mut self, looked_at: usize, steps: &mut usize) {
        *steps = steps.saturating_sub(looked_at);
        #[cfg(test)]
        {
            self.looked_at += looked_at;
        }
    }

    /// Tells the queue the time. If it is empty the position follows, so that new timers go to low
    /// levels.
    #[inline]
    pub(crate) fn skip_to(&mut self, time: u64) {
        if self.len == 0 {
            self.levels.skip_to(time);
        }
    }

    /// Drops a few dead items if more than half are dead. Returns the number of steps taken.
    pub(crate) fn sweep<V>(&mut self, table: &Table<V>) -> usize {
        let mut steps = 0;
        while steps < Sweep::STEPS && 2 * (self.len - table.len()) > self.len + Sweep::SLACK {
            let dropped = self.sweep.step(&mut self.levels, &mut self.past, table);
            self.len -= usize::from(dropped);
            steps += 1;
        }
        steps
    }

    #[inline]
    fn near_time(&self) -> u64 {
        let page = self.levels.floor();
        self.near.last().map_or(u64::MAX, |item| item.time(page))
    }

    #[inline]
    fn past_time(&self) -> u64 {
        let first = self.past.first_key_value();
        first.map_or(u64::MAX, |((time, _), _)| *time)
    }
}

#[cfg(test)]
mod tests;
