//! How a set occupies slots, and adds them to the next round without a wake.

use super::{ReadySet, Scheduled, group_slots::bit_of};
use crate::attempts::wake::BITS;

impl ReadySet {
    /// Occupies a free slot, in the first group if it has one. The next round visits the slot.
    #[inline(never)]
    pub(crate) fn push(&mut self) -> usize {
        let pushed = match (self.first.group.slots.is_full(), self.scheduled) {
            (true, Scheduled::Several) => self.further.push(!self.round),
            (true, Scheduled::None) => self.further.occupy_open().map(|(_, slot)| slot),
            (false, Scheduled::Several) => self.first.append(!self.round),
            _ => None,
        };
        if let (Some(slot), Scheduled::None) = (pushed, self.scheduled) {
            self.scheduled = Scheduled::One(slot);
        }
        pushed.unwrap_or_else(|| self.push_slowly())
    }

    #[cold]
    #[inline(never)]
    fn push_slowly(&mut self) -> usize {
        let slot = self.occupy();
        self.schedule(slot);
        slot
    }

    /// Occupies a free slot, in the first group if it has one.
    #[inline]
    pub(crate) fn occupy(&mut self) -> usize {
        match self.first.occupy() {
            Some(slot) => slot,
            None => self.further.occupy(&self.first.group.handle),
        }
    }

    /// Adds a slot to the next round without a wake.
    #[inline]
    fn schedule(&mut self, slot: usize) {
        match self.scheduled {
            Scheduled::None => self.scheduled = Scheduled::One(slot),
            Scheduled::Several => self.add_due(!self.round, slot / BITS, bit_of(slot)),
            Scheduled::One(other) => {
                self.scheduled = Scheduled::Several;
                for slot in [other, slot] {
                    self.add_due(!self.round, slot / BITS, bit_of(slot));
                }
            }
        }
    }
}
