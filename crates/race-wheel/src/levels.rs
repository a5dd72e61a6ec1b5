use alloc::{collections::BTreeMap, vec::Vec};

use crate::{Item, bucket::Bucket, table::Table};

/// The future: 6 levels of 64 buckets, and pages beyond.
///
/// A timer lies at the level of the highest group of six bits in which its tick differs from the position
/// (Varghese and Lauck, *Hashed and Hierarchical Timing Wheels*, SOSP 1987, scheme 7), in the bucket that
/// this group names. So at every level the buckets in front of the position hold what comes next, those of
/// a lower level come before those of a higher, and within a level the order is that of the slots: the
/// earliest is always in the first occupied bucket of the lowest level that has one. One bit for each
/// bucket finds it without a walk over the empty ones.
///
/// The position does not follow the clock. It jumps to the earliest tick when that has come.
pub(crate) struct Levels {
    levels: [Level; Self::COUNT],
    /// What differs above the levels, by the bits above, so in order.
    beyond: BTreeMap<u64, Bucket>,
    /// All items are later, but for those at the position that wait at level 0 to be taken.
    position: u64,
    /// No item is earlier. `u64::MAX` if there is none, or none before that tick.
    earliest: u64,
    #[cfg(test)]
    pub(crate) cascades: BTreeMap<u64, usize>,
}

struct Level {
    /// A bit for each bucket that has items.
    occupied: u64,
    /// 64, from the first use on.
    buckets: Vec<Bucket>,
}

/// A bucket: one of the levels, counted through from the lowest, or a page beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Slot(usize),
    Page(u64),
}

impl Place {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Slot(number) => Self::Slot(number + 1),
            Self::Page(page) => Self::Page(page + 1),
        }
    }
}

/// What was found at one place of a bucket.
pub(crate) enum Swept {
    Live,
    /// And is gone; another may be in its place.
    Dead,
    /// Nothing: the bucket ends before.
    End,
}

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;

/// Sorting so few is cheaper than to take them down level by level.
const FEW: usize = 96;
/// To look at the entries of so many brings them into the processor's cache, where they are wanted soon. Of
/// more, they would be gone again by then.
const MANY: usize = 4096;

impl Levels {
    const COUNT: usize = (Item::TICK_BITS / SLOT_BITS) as usize;

    pub(crate) const fn new() -> Self {
        const EMPTY: Level = Level {
            occupied: 0,
            buckets: Vec::new(),
        };
        Self {
            levels: [EMPTY; Self::COUNT],
            beyond: BTreeMap::new(),
            position: 0,
            earliest: u64::MAX,
            #[cfg(test)]
            cascades: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.earliest
    }

    /// Moves to a tick, if it is ahead. There must be no items.
    #[inline]
    pub(crate) fn skip_to(&mut self, tick: u64) {
        self.position = self.position.max(tick);
    }

    /// The tick must be later than the position, or at it while a bucket is taken down.
    #[inline]
    pub(crate) fn insert(&mut self, tick: u64, item: Item) {
        debug_assert!(
            tick >= self.position,
            "what has passed is not of the levels"
        );
        self.earliest = self.earliest.min(tick);
        let differs = tick ^ self.position;
        if differs > Item::TICK_MASK {
            let page = tick >> Item::TICK_BITS;
            self.beyond.entry(page).or_default().push(tick, item);
            return;
        }
        let level = (differs | 1).ilog2() / SLOT_BITS;
        let slot = (tick >> (level * SLOT_BITS)) as usize % SLOTS;
        let level = &mut self.levels[level as usize];
        if level.buckets.is_empty() {
            level.buckets.resize_with(SLOTS, Bucket::default);
        }
        level.occupied |= 1 << slot;
        level.buckets[slot].push(tick, item);
    }

    /// Goes to the earliest tick, and takes the bucket that has it apart: what is due at once, and what is
    /// few enough to be sorted if `near` is empty, goes on top of `near`, the earliest on top; the rest goes
    /// down. What is dead is dropped; tells how many. There must be an earliest.
    pub(crate) fn open<V>(&mut self, near: &mut Vec<Item>, table: &Table<V>) -> usize {
        self.position = self.earliest;
        let lowest = self.levels.iter().position(|level| level.occupied != 0);
        let Some(number) = lowest else {
            let Some((_, mut page)) = self.beyond.pop_first() else {
                return 0;
            };
            let dead = self.take(&mut page, false, near, table);
            self.earliest = self.first();
            return dead;
        };
        let level = &mut self.levels[number];
        let slot = level.occupied.trailing_zeros() as usize;
        level.occupied &= level.occupied - 1;
        // Nothing goes back into the same bucket, so it may be away for the time being.
        let mut bucket = core::mem::take(&mut level.buckets[slot]);
        let dead = self.take(&mut bucket, number == 0, near, table);
        bucket.clear();
        self.levels[number].buckets[slot] = bucket;
        self.earliest = self.first();
        dead
    }

    fn take<V>(
        &mut self,
        bucket: &mut Bucket,
        is_due: bool,
        near: &mut Vec<Item>,
        table: &Table<V>,
    ) -> usize {
        let dead = if bucket.items.len() <= MANY {
            bucket.retain(|item| table.is_live(item))
        } else {
            bucket.retain(|item| table.may_be_live(item))
        };
        if is_due || near.is_empty() && bucket.items.len() <= FEW {
            let items = &mut bucket.items;
            if !items.is_sorted() {
                items.sort_unstable();
            }
            near.extend(items.iter().rev());
        } else {
            for item in bucket.items.iter() {
                self.insert(item.tick(self.position), *item);
                #[cfg(test)]
                self.cascades
                    .entry(item.seq())
                    .and_modify(|it| *it += 1)
                    .or_insert(1);
            }
        }
        dead
    }

    /// The earliest tick of all buckets.
    #[inline]
    fn first(&self) -> u64 {
        match self.next_place(Place::Slot(0)) {
            Some(place) => self.bucket(place).map_or(u64::MAX, |it| it.earliest),
            None => u64::MAX,
        }
    }

    fn bucket(&self, place: Place) -> Option<&Bucket> {
        match place {
            Place::Slot(number) => self.levels[number / SLOTS].buckets.get(number % SLOTS),
            Place::Page(page) => self.beyond.get(&page),
        }
    }

    /// The first bucket with items from here on.
    pub(crate) fn next_place(&self, from: Place) -> Option<Place> {
        let page = match from {
            Place::Slot(from) => {
                for number in from / SLOTS..Self::COUNT {
                    let skipped = from.saturating_sub(number * SLOTS);
                    let occupied = self.levels[number].occupied & (!0 << skipped);
                    if occupied != 0 {
                        let slot = occupied.trailing_zeros() as usize;
                        return Some(Place::Slot(number * SLOTS + slot));
                    }
                }
                0
            }
            Place::Page(page) => page,
        };
        let (page, _) = self.beyond.range(page..).next()?;
        Some(Place::Page(*page))
    }

    /// Looks at one item of a bucket, and drops it if it is dead; at the end gives memory back.
    pub(crate) fn sweep<V>(&mut self, place: Place, at: usize, table: &Table<V>) -> Swept {
        let bucket = match place {
            Place::Slot(number) => self.levels[number / SLOTS].buckets.get_mut(number % SLOTS),
            Place::Page(page) => self.beyond.get_mut(&page),
        };
        let Some(bucket) = bucket else {
            return Swept::End;
        };
        match bucket.items.get(at) {
            Some(item) if table.is_live(*item) => return Swept::Live,
            Some(_) => bucket.items.swap_remove(at),
            None => {
                bucket.trim();
                return Swept::End;
            }
        };
        if bucket.items.is_empty() {
            bucket.clear();
            match place {
                Place::Slot(number) => {
                    self.levels[number / SLOTS].occupied &= !(1 << (number % SLOTS));
                }
                Place::Page(page) => drop(self.beyond.remove(&page)),
            }
            self.earliest = self.first();
        }
        Swept::Dead
    }
}
