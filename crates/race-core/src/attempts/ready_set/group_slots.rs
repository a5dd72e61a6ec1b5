use core::num::NonZero;

use crate::attempts::wake::{ALL_BITS, BITS};

/// Which slots of a group are free, and which are to be polled: a bit for each slot.
pub(super) struct GroupSlots {
    /// Not the occupied slots, because the lowest bit of a word takes the fewest instructions.
    free: usize,
    /// The slots to poll in the current round and in the next one. The two words swap roles each
    /// round; a round's parity is the index of its word.
    due: [usize; 2],
}

/// Distinguishes a round from the next one.
pub(super) type Parity = bool;

impl Default for GroupSlots {
    fn default() -> Self {
        Self {
            free: ALL_BITS,
            due: [0; 2],
        }
    }
}

impl GroupSlots {
    /// Returns the occupied slots.
    #[inline]
    pub(super) fn occupied(&self) -> usize {
        !self.free & ALL_BITS
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == 0
    }

    #[inline]
    pub(super) fn is_occupied(&self, slot: usize) -> bool {
        self.free & bit_of(slot) == 0
    }

    /// Returns whether no occupied slot comes after a free one.
    #[inline]
    pub(super) fn has_no_gap(&self) -> bool {
        let occupied = self.occupied();
        occupied & occupied.wrapping_add(1) == 0
    }

    /// Occupies the lowest free slot and returns its number in the group. Returns `None` if the
    /// group is full.
    #[inline]
    pub(super) fn occupy(&mut self) -> Option<usize> {
        let free = NonZero::new(self.free)?;
        self.free &= self.free - 1;
        Some(free.trailing_zeros() as usize)
    }

    #[inline]
    pub(super) fn free(&mut self, slot: usize) {
        self.free |= bit_of(slot);
    }

    /// Returns the slots to poll in a round.
    #[inline]
    pub(super) fn due(&self, round: Parity) -> usize {
        self.due[usize::from(round)]
    }

    /// Adds the slots in `mask` to a round.
    #[inline]
    pub(super) fn add_due(&mut self, round: Parity, mask: usize) {
        self.due[usize::from(round)] |= mask;
    }

    /// Removes the slots in `mask` from a round. Returns those that were in it.
    #[inline]
    pub(super) fn take_due(&mut self, round: Parity, mask: usize) -> usize {
        let due = &mut self.due[usize::from(round)];
        let taken = *due & mask;
        *due &= !mask;
        taken
    }

    /// Removes a slot from both rounds.
    pub(super) fn unschedule(&mut self, slot: usize) {
        for due in &mut self.due {
            *due &= !bit_of(slot);
        }
    }
}

/// Returns the bit of a slot in the words of its group.
#[inline]
pub(super) fn bit_of(slot: usize) -> usize {
    1 << (slot % BITS)
}
