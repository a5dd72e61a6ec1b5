use alloc::{collections::BTreeMap, vec::Vec};
use core::mem;

use crate::{
    Item,
    bucket::{Bucket, Chunk},
    past::Past,
    table::Table,
};

/// The timers that are not due: 6 levels of 64 buckets, and pages beyond them.
///
/// The position is a time that no timer here precedes. A timer is in the level of the highest group
/// of six bits in which its time differs from the position, in the bucket that this group selects
/// (Varghese and Lauck, *Hashed and Hierarchical Timing Wheels*, SOSP 1987, scheme 7). So in every
/// level the buckets after the position's slot hold what comes next, a lower level comes before a
/// higher one, and slots are in order of time: the earliest timer is in the first occupied bucket
/// of the lowest occupied level. One bit per bucket finds it without visiting empty buckets. A
/// timer that differs above the levels is in a page, which is ordered by these higher bits.
///
/// The position does not follow the clock. Once the earliest time has come, the position jumps to
/// it and the bucket is *opened*: its items move down to lower levels, a chunk per call, so that no
/// call depends on the size of a bucket. A bucket of level 0 holds a single time; its items are due
/// and leave.
pub(crate) struct Levels {
    levels: [Level; Self::COUNT],
    /// By the bits above the levels.
    beyond: BTreeMap<u64, Bucket>,
    /// The reference of [`insert`](Self::insert). Equals `floor`, except while a bucket is moved
    /// down: then it is still the old position, so that new timers of the bucket's span join the
    /// bucket at its end.
    position: u64,
    /// All timers here are later, except those of the bucket that is open.
    floor: u64,
    /// The bucket that is being moved down. It precedes all others.
    moving: Option<Place>,
    /// No timer here is earlier. `u64::MAX` without timers.
    earliest: u64,
    /// How often each item was moved, by sequence number.
    #[cfg(test)]
    pub(crate) moves: BTreeMap<u64, usize>,
    /// The sum of `moves`.
    #[cfg(test)]
    pub(crate) moved: usize,
}

struct Level {
    /// A bit for each bucket that has items.
    occupied: u64,
    /// Empty until the first use, then [`SLOTS`] buckets.
    buckets: Vec<Bucket>,
}

/// Names a bucket: one of the levels, numbered from the lowest, or a page.
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

    /// Whether all items of the bucket have the same time.
    fn has_one_time(self) -> bool {
        matches!(self, Self::Slot(number) if number < SLOTS)
    }
}

/// What [`Levels::open`] did.
pub(crate) struct Opened {
    /// The number of items taken from the bucket.
    pub(crate) taken: usize,
    /// The number of these that were dead and dropped.
    pub(crate) dead: usize,
}

/// What [`Levels::sweep`] found.
pub(crate) enum Swept {
    Live,
    /// The item is dropped; another item may have taken its place.
    Dead,
    /// The bucket ends before the index.
    End,
}

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;

/// Up to this many items are sorted, which is cheaper than moving them down.
const FEW: usize = 96;
/// Up to this many items, reading the table's entries brings them into the processor's cache, where
/// they are needed soon. Of a larger bucket they would be evicted before that.
const MANY: usize = 4096;

impl Levels {
    const COUNT: usize = (Item::TIME_BITS / SLOT_BITS) as usize;

    pub(crate) const fn new() -> Self {
        const EMPTY: Level = Level {
            occupied: 0,
            buckets: Vec::new(),
        };
        Self {
            levels: [EMPTY; Self::COUNT],
            beyond: BTreeMap::new(),
            position: 0,
            floor: 0,
            moving: None,
            earliest: u64::MAX,
            #[cfg(test)]
            moves: BTreeMap::new(),
            #[cfg(test)]
            moved: 0,
        }
    }

    /// Only later times can be inserted.
    #[inline]
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.earliest
    }

    /// Moves the position to `time`, if that is later. There must be no items.
    #[inline]
    pub(crate) fn skip_to(&mut self, time: u64) {
        debug_assert!(self.moving.is_none(), "an empty bucket is closed");
        self.floor = self.floor.max(time);
        self.position = self.floor;
    }

    /// Inserts an item whose time is later than the floor.
    #[inline]
    pub(crate) fn insert(&mut self, time: u64, item: Item) {
        debug_assert!(time > self.floor, "an earlier time belongs to `Past`");
        self.earliest = self.earliest.min(time);
        self.bucket_for(time, self.position).push(time, item);
    }

    #[inline]
    fn bucket_for(&mut self, time: u64, position: u64) -> &mut Bucket {
        let differs = time ^ position;
        if differs > Item::TIME_MASK {
            return self.beyond.entry(time >> Item::TIME_BITS).or_default();
        }
        let level = (differs | 1).ilog2() / SLOT_BITS;
        let slot = (time >> (level * SLOT_BITS)) as usize % SLOTS;
        let level = &mut self.levels[level as usize];
        if level.buckets.is_empty() {
            level.buckets.resize_with(SLOTS, Bucket::default);
        }
        level.occupied |= 1 << slot;
        &mut level.buckets[slot]
    }

    /// Takes a chunk of the first bucket, and drops what is dead.
    ///
    /// What is due goes to the top of `near`, the earliest last; so does a bucket of a few items,
    /// sorted, if `near` is empty. What is due but not in order of insertion goes to `past`, unless
    /// it is one chunk. Everything else moves down. There must be an earliest time.
    pub(crate) fn open<V>(
        &mut self,
        near: &mut Vec<Item>,
        past: &mut Past,
        table: &Table<V>,
    ) -> Opened {
        let first = self.moving.or_else(|| self.next_place(Place::Slot(0)));
        let Some(place) = first else {
            return Opened { taken: 1, dead: 0 };
        };
        self.floor = self.earliest;
        // Nothing is moved into the bucket itself, so it can be absent meanwhile.
        let mut bucket = self.bucket_mut(place).map(mem::take).unwrap_or_default();
        let (before, in_order) = (bucket.len(), bucket.in_order);
        let is_due = place.has_one_time();
        let Chunk {
            live,
            dead,
            is_whole,
        } = if is_due || before <= MANY {
            bucket.take_chunk(|item| table.is_live(item))
        } else {
            bucket.take_chunk(|item| table.may_be_live(item))
        };
        if is_due && !in_order && !is_whole {
            let due = live.iter().map(|item| item.key());
            past.extend(due.map(|key| ((self.floor, key.seq), key.index)));
        } else if is_due || is_whole && live.len() <= FEW && near.is_empty() {
            if !live.is_sorted() {
                live.sort_unstable();
            }
            near.extend(live.iter().rev());
        } else {
            self.move_down(live, in_order);
        }
        let taken = before - bucket.len();
        if is_due {
            self.position = self.floor;
        } else {
            self.moving = Some(place);
        }
        if bucket.len() == 0 {
            self.close(place, bucket);
        } else if let Some(absent) = self.bucket_mut(place) {
            *absent = bucket;
            self.earliest = self.first();
        }
        Opened { taken, dead }
    }

    /// Moves items of the open bucket to lower levels, relative to the floor.
    fn move_down(&mut self, items: &[Item], in_order: bool) {
        for item in items {
            let time = item.time(self.floor);
            let bucket = self.bucket_for(time, self.floor);
            bucket.push(time, *item);
            if !in_order {
                bucket.in_order = false;
            }
            #[cfg(test)]
            {
                *self.moves.entry(item.seq()).or_default() += 1;
                self.moved += 1;
            }
        }
    }

    /// Puts an empty bucket back.
    fn close(&mut self, place: Place, mut bucket: Bucket) {
        match place {
            Place::Slot(number) => {
                bucket.clear();
                let level = &mut self.levels[number / SLOTS];
                level.buckets[number % SLOTS] = bucket;
                level.occupied &= !(1 << (number % SLOTS));
            }
            Place::Page(page) => drop(self.beyond.remove(&page)),
        }
        if self.moving.is_none_or(|moving| moving == place) {
            self.moving = None;
            self.position = self.floor;
        }
        self.earliest = self.first();
    }

    /// The earliest time of all buckets.
    #[inline]
    fn first(&self) -> u64 {
        if self.moving.is_some() {
            return self.floor;
        }
        match self.next_place(Place::Slot(0)) {
            Some(Place::Slot(number)) => {
                self.levels[number / SLOTS].buckets[number % SLOTS].earliest
            }
            Some(Place::Page(page)) => self.beyond.get(&page).map_or(u64::MAX, |it| it.earliest),
            None => u64::MAX,
        }
    }

    fn bucket_mut(&mut self, place: Place) -> Option<&mut Bucket> {
        match place {
            Place::Slot(number) => self.levels[number / SLOTS].buckets.get_mut(number % SLOTS),
            Place::Page(page) => self.beyond.get_mut(&page),
        }
    }

    /// The first bucket with items, from `from` on.
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

    /// Checks one item of a bucket, and drops it if it is dead. At the end of the bucket, gives
    /// memory back.
    pub(crate) fn sweep<V>(&mut self, place: Place, index: usize, table: &Table<V>) -> Swept {
        let Some(bucket) = self.bucket_mut(place) else {
            return Swept::End;
        };
        match bucket.get(index) {
            Some(item) if table.is_live(item) => return Swept::Live,
            Some(_) => bucket.swap_remove(index),
            None => {
                bucket.trim();
                return Swept::End;
            }
        }
        if bucket.len() == 0 {
            let bucket = mem::take(bucket);
            self.close(place, bucket);
        }
        Swept::Dead
    }
}
