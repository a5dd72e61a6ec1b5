use core::num::NonZeroU64;

use crate::{
    Key,
    levels::{Levels, Place, Swept},
    queue::Past,
    table::Table,
};

/// Goes round all buckets, a few steps with each operation, and drops what is dead.
///
/// It runs while more than half is dead. One round takes a quarter as many operations as there are items
/// then, and each of them adds one dead at most: so there are never more than about 2.5 items for each timer
/// that is armed, however the dead and the living lie. What is sorted already is left out; nothing is
/// added to it, and the next poll that comes to it drops the dead.
pub(crate) struct Sweep {
    at: Stop,
    /// Of the bucket, the item that is next.
    item: usize,
}

#[derive(Clone, Copy)]
enum Stop {
    Bucket(Place),
    Past(u64, NonZeroU64),
}

impl Sweep {
    /// With each operation.
    pub(crate) const STEPS: usize = 4;
    /// So many dead more are not worth the while.
    pub(crate) const SLACK: usize = 64;

    const START: Stop = Stop::Bucket(Place::Slot(0));

    pub(crate) const fn new() -> Self {
        Self {
            at: Self::START,
            item: 0,
        }
    }

    /// Looks at one item, or goes on to the next bucket. Tells whether an item was dropped.
    pub(crate) fn step<V>(
        &mut self,
        levels: &mut Levels,
        past: &mut Past,
        table: &Table<V>,
    ) -> bool {
        match self.at {
            Stop::Bucket(from) => {
                let Some(place) = levels.next_place(from) else {
                    self.go_to(Stop::Past(0, NonZeroU64::MIN));
                    return false;
                };
                if place != from {
                    self.go_to(Stop::Bucket(place));
                }
                match levels.sweep(place, self.item, table) {
                    Swept::Live => self.item += 1,
                    Swept::Dead => return true,
                    Swept::End => self.go_to(Stop::Bucket(place.next())),
                }
                false
            }
            Stop::Past(tick, seq) => {
                let Some((&(tick, seq), &index)) = past.range((tick, seq)..).next() else {
                    self.go_to(Self::START);
                    return false;
                };
                self.at = Stop::Past(tick, seq.saturating_add(1));
                let dead = table.get(Key { seq, index }).is_none();
                if dead {
                    past.remove(&(tick, seq));
                }
                dead
            }
        }
    }

    fn go_to(&mut self, stop: Stop) {
        *self = Self { at: stop, item: 0 };
    }
}
