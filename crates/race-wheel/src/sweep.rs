use core::num::NonZeroU64;

use crate::{
    Key,
    levels::{Levels, Place, Swept},
    past::Past,
    table::Table,
};

/// Drops dead items: visits all buckets in turn, a few steps with each operation of the wheel.
///
/// It runs while more than half of the items are dead. One round then takes a quarter as many
/// operations as there are items, and each operation adds at most one dead item, so there are at
/// most about 2.5 items per armed timer. It leaves out what is sorted already: nothing is added
/// there, and the next poll drops it.
pub(crate) struct Sweep {
    at: Stop,
    /// The next index in the bucket.
    index: usize,
}

#[derive(Clone, Copy)]
enum Stop {
    Bucket(Place),
    Past(u64, NonZeroU64),
}

impl Sweep {
    /// The steps taken with each operation.
    pub(crate) const STEPS: usize = 4;
    /// The surplus of dead items that starts the sweep.
    pub(crate) const SLACK: usize = 64;

    const START: Stop = Stop::Bucket(Place::Slot(0));

    pub(crate) const fn new() -> Self {
        Self {
            at: Self::START,
            index: 0,
        }
    }

    /// Checks one item, or goes on to the next bucket. Returns whether an item was dropped.
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
                match levels.sweep(place, self.index, table) {
                    Swept::Live => self.index += 1,
                    Swept::Dead => return true,
                    Swept::End => self.go_to(Stop::Bucket(place.next())),
                }
                false
            }
            Stop::Past(time, seq) => {
                let Some((&(time, seq), &index)) = past.range((time, seq)..).next() else {
                    self.go_to(Self::START);
                    return false;
                };
                self.at = Stop::Past(time, seq.saturating_add(1));
                let dead = table.get(Key { seq, index }).is_none();
                if dead {
                    past.remove(&(time, seq));
                }
                dead
            }
        }
    }

    fn go_to(&mut self, stop: Stop) {
        *self = Self { at: stop, index: 0 };
    }
}
