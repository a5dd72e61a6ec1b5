mod stacked_groups;

use alloc::boxed::Box;
use core::{
    mem::{self, ManuallyDrop},
    task::Waker,
};

use self::stacked_groups::StackedGroups;
use super::{
    Side,
    bit_set::{lowest_bit, set_bits},
    push_order::PushOrder,
    wake::{BITS, MEMBERS, RootGroup},
};

/// The number of slots of the first group. Its other three bits are the timer, the source and the
/// claim of the root.
const SLOTS: usize = BITS - 3;

/// The bits of these slots.
const ALL_SLOTS: usize = (1 << SLOTS) - 1;

/// The number of rounds without a finished attempt after which the starting slot rotates.
const STALLED_ROUNDS: u32 = 64;

/// Which slots are occupied, and which of them are to be polled in this round.
///
/// The first 61 slots form a group of their own, so a small set needs no second tier. A *round*
/// visits once each slot that was woken or scheduled before the round began.
pub(crate) struct ReadySet {
    root: RootGroup<MEMBERS>,
    /// The occupied slots of the first group.
    occupied: usize,
    /// The slots of the first group still to be polled in this round.
    round: usize,
    /// The slots of the first group to be polled in the next round without a wake.
    scheduled: usize,
    /// The bits of the timer and the source, if they were woken.
    side_wakes: usize,
    /// The order of the first group. `None` while it is the slot order.
    order: Option<Box<PushOrder>>,
    /// The number of consecutive rounds with several slots in which no attempt finished.
    stalled_rounds: u32,
    /// Whether the round has begun and no slot has been visited.
    at_round_start: bool,
    /// The first slot that was visited in the last round.
    first_visited: usize,
    /// The slots below this one are visited last in this round.
    start: usize,
    /// The slots beyond the first group.
    groups: Option<Box<StackedGroups>>,
}

impl ReadySet {
    pub(crate) fn new() -> Self {
        Self {
            root: RootGroup::new(),
            occupied: 0,
            round: 0,
            scheduled: 0,
            side_wakes: 0,
            order: None,
            stalled_rounds: 0,
            at_round_start: false,
            first_visited: 0,
            start: 0,
            groups: None,
        }
    }

    /// Registers `waker`, and begins a round with the slots that were woken or scheduled before.
    ///
    /// If `waker` or its predecessor panics, no wake is lost: the next call includes them.
    #[inline]
    pub(crate) fn begin_round(&mut self, waker: &Waker) {
        let (woken, replaced) = self.root.register(waker);
        self.side_wakes |= woken & !ALL_SLOTS;
        self.round |= (woken | mem::take(&mut self.scheduled)) & self.occupied;
        self.at_round_start = true;
        self.start = match self.stalled_rounds > STALLED_ROUNDS {
            true => self.first_visited + 1,
            false => 0,
        };
        drop(replaced); // may panic; every wake of the first group is noted
        if let Some(groups) = &mut self.groups {
            groups.begin_round(waker);
        }
    }

    /// Returns the next slot of this round, and removes it from the round. The slots of the first
    /// group come in push order.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        let slot = match self.start {
            0 => self.next_in_order()?,
            start => self.next_rotated(start)?,
        };
        if mem::take(&mut self.at_round_start) {
            self.first_visited = slot;
            if self.has_next() {
                self.stalled_rounds = self.stalled_rounds.saturating_add(1);
            }
        }
        Some(slot)
    }

    #[inline]
    fn next_in_order(&mut self) -> Option<usize> {
        let slot = match &self.order {
            Some(order) if self.round != 0 && !self.round.is_power_of_two() => {
                order.first_of(self.round)
            }
            _ => None,
        };
        match slot {
            Some(slot) => Some(self.visit(slot.into())),
            None => self.next_lowest(),
        }
    }

    #[inline]
    fn next_lowest(&mut self) -> Option<usize> {
        match self.round {
            0 => Some(SLOTS + self.groups.as_mut()?.next(0)?),
            round => Some(self.visit(lowest_bit(round))),
        }
    }

    /// Removes a slot of the first group from the round.
    #[inline]
    fn visit(&mut self, slot: usize) -> usize {
        self.round &= !(1 << slot);
        slot
    }

    /// Returns the next slot that is not below `start`, or else the lowest slot.
    #[cold]
    fn next_rotated(&mut self, start: usize) -> Option<usize> {
        let from_start = match start < SLOTS {
            true => self.round & (usize::MAX << start),
            false => 0,
        };
        let slot = if from_start != 0 {
            Some(self.visit(lowest_bit(from_start)))
        } else {
            let groups = self.groups.as_mut();
            let slot = groups.and_then(|groups| groups.next(start.saturating_sub(SLOTS)));
            slot.map(|slot| SLOTS + slot)
        };
        self.start = slot.map_or(0, |slot| slot + 1);
        slot.or_else(|| self.next_lowest())
    }

    /// Removes slot 0 from the round. Returns whether it was in it.
    pub(crate) fn visit_first(&mut self) -> bool {
        let is_due = self.round & 1 == 1;
        self.visit(0);
        is_due
    }

    /// Returns whether this round has another slot.
    #[inline]
    pub(crate) fn has_next(&mut self) -> bool {
        self.round != 0 || self.groups.as_mut().is_some_and(|groups| groups.has_next())
    }

    /// Occupies the lowest free slot. If the second tier is created, registers `waker` with it;
    /// without one, the caller must schedule the slot.
    #[inline]
    pub(crate) fn occupy(&mut self, waker: Option<&Waker>) -> usize {
        let slot = lowest_bit(!self.occupied);
        if slot >= SLOTS {
            let groups = self.groups.get_or_insert_with(|| {
                let mut groups = Box::new(StackedGroups::new());
                if let Some(waker) = waker {
                    groups.begin_round(waker);
                }
                groups
            });
            return SLOTS + groups.occupy();
        }
        match &mut self.order {
            Some(order) => order.push(slot as u8),
            None if self.occupied >> slot == 0 => {}
            none => none
                .insert(Box::new(PushOrder::ascending(self.occupied)))
                .push(slot as u8),
        }
        self.occupied |= 1 << slot;
        slot
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn free(&mut self, slot: usize) {
        self.stalled_rounds = 0;
        match &mut self.groups {
            Some(groups) if slot >= SLOTS => groups.free(slot - SLOTS),
            _ => {
                self.occupied &= !(1 << slot);
                if self.occupied == 0 {
                    self.order = None;
                } else if let Some(order) = &mut self.order {
                    order.remove(slot as u8);
                }
            }
        }
    }

    /// Adds a slot to the next round without a wake.
    #[inline]
    pub(crate) fn schedule(&mut self, slot: usize) {
        match &mut self.groups {
            Some(groups) if slot >= SLOTS => groups.schedule(slot - SLOTS),
            _ => self.scheduled |= 1 << slot,
        }
    }

    /// Removes a slot from this round and the next. The caller then frees the slot.
    pub(crate) fn unschedule(&mut self, slot: usize) {
        match &mut self.groups {
            Some(groups) if slot >= SLOTS => groups.unschedule(slot - SLOTS),
            _ => {
                self.round &= !(1 << slot);
                self.scheduled &= !(1 << slot);
            }
        }
    }

    /// Returns a borrowed waker for a slot.
    #[inline]
    pub(crate) fn waker(&self, slot: usize) -> ManuallyDrop<Waker> {
        match &self.groups {
            Some(groups) if slot >= SLOTS => groups.waker(slot - SLOTS),
            _ => self.root.waker(slot as u8),
        }
    }

    /// Returns a borrowed waker for the timer or the source, and whether it was woken since the
    /// previous call.
    #[inline]
    pub(crate) fn side_waker(&mut self, side: Side) -> (ManuallyDrop<Waker>, bool) {
        let bit = SLOTS + side as usize;
        let was_woken = self.side_wakes >> bit & 1 == 1;
        self.side_wakes &= !(1 << bit);
        (self.root.waker(bit as u8), was_woken)
    }

    /// Drops the parent's waker. Later wakes have no effect.
    pub(crate) fn close(&self) {
        self.root.close();
        if let Some(groups) = &self.groups {
            groups.close();
        }
    }

    /// Returns the occupied slots in ascending order.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups.iter().flat_map(|groups| groups.occupied());
        set_bits(self.occupied).chain(groups.map(|slot| SLOTS + slot))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
