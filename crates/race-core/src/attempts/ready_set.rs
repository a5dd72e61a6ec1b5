mod first_group;
mod further_groups;
mod group_slots;
mod polled_group;
mod push;
mod push_order;
mod visit;

use alloc::boxed::Box;
use core::{mem, num::NonZero, task::Waker};

pub(crate) use self::visit::Visit;
use self::{
    first_group::FirstGroup,
    further_groups::FurtherGroups,
    group_slots::{Parity, bit_of},
    polled_group::PolledGroup,
};
use super::{
    BorrowedWaker, Side,
    bit_set::set_bits,
    wake::{BITS, Entry, Root, Top},
};

/// The number of rounds without a finished attempt after which the starting slot rotates.
const STALLED_ROUNDS: u32 = 64;

/// The slots of a round that has begun.
pub(crate) enum BegunRound {
    Empty,
    One(Visit),
    /// Any number of slots, which `next` returns one by one.
    Several,
}

/// Which slots are occupied, and which of them are to be polled in this round.
///
/// Slots are divided into groups, as their wakers are. A *round* visits once each slot that was
/// woken or scheduled before the round began. Most rounds visit one slot.
pub(crate) struct ReadySet {
    /// In a round of several slots: the group that it visits, and the slots of this group that it
    /// still has to visit.
    group: usize,
    remaining: usize,
    /// The parity of this round.
    round: Parity,
    scheduled: Scheduled,
    first: FirstGroup,
    further: FurtherGroups,
    /// The first slot that was visited in the last round of several slots.
    first_visited: usize,
    /// Before a rotated round wraps: further groups from this index come first. Otherwise 0.
    rotated_from: usize,
    /// The number of consecutive rounds of several slots in which no attempt finished.
    stalled_rounds: u32,
    /// Whether the slots of this group are visited in push order instead of slot order.
    in_push_order: bool,
    /// Whether this round has slots in other groups, too. If so, `remaining` is not zero.
    has_more_groups: bool,
    /// The flags of the timer and the source, if they were woken.
    side_wakes: u8,
}

/// The slots that the next round visits without a wake.
#[derive(Clone, Copy)]
enum Scheduled {
    None,
    /// A single slot is not added to its group, so that the next round may be `One`.
    One(usize),
    /// Each is added to its group as due in the next round.
    Several,
}

impl ReadySet {
    #[cold]
    pub(crate) fn boxed() -> Box<Self> {
        Box::new(Self {
            group: 0,
            remaining: 0,
            round: false,
            scheduled: Scheduled::None,
            first: FirstGroup::new(),
            further: FurtherGroups::default(),
            first_visited: 0,
            rotated_from: 0,
            stalled_rounds: 0,
            in_push_order: false,
            has_more_groups: false,
            side_wakes: 0,
        })
    }

    /// Registers `waker`, and begins a round with the slots that were woken or scheduled before.
    /// The previous round must be complete.
    ///
    /// If `waker` or its predecessor panics, no wake is lost: the next call includes them.
    #[inline(always)]
    pub(crate) fn begin_round(&mut self, waker: &Waker) -> BegunRound {
        let Some(woken) = self.first.group.handle.register(waker) else {
            return self.begin_round_without_wakes();
        };
        match (self.scheduled, woken.only_member()) {
            (Scheduled::None, Some(slot)) => {
                // SAFETY: a waker named the slot.
                let group = unsafe { self.group_unchecked(slot / BITS) };
                match group.slots.is_occupied(slot) {
                    true => BegunRound::One(Visit::new(slot, group)),
                    false => BegunRound::Empty, // the woken slot is free by now
                }
            }
            (_, None) if woken.is_empty() => self.begin_round_without_wakes(),
            _ => {
                self.begin_round_of_several(woken);
                BegunRound::Several
            }
        }
    }

    #[inline(always)]
    fn begin_round_without_wakes(&mut self) -> BegunRound {
        match self.scheduled {
            Scheduled::None => BegunRound::Empty,
            Scheduled::One(slot) => {
                self.scheduled = Scheduled::None;
                // SAFETY: the slot was occupied when it was scheduled.
                let group = unsafe { self.group_unchecked(slot / BITS) };
                BegunRound::One(Visit::new(slot, group))
            }
            Scheduled::Several => {
                self.begin_round_of_several(Top::EMPTY);
                BegunRound::Several
            }
        }
    }

    /// Like `begin_round` while no slot is occupied.
    #[inline(never)]
    pub(crate) fn begin_round_of_sides(&mut self, waker: &Waker) {
        self.begin_round(waker);
    }

    #[inline(never)]
    fn begin_round_of_several(&mut self, woken: Top) {
        self.side_wakes |= woken.sides();
        self.round = !self.round;
        if let Scheduled::One(slot) = mem::replace(&mut self.scheduled, Scheduled::None) {
            self.add_due(self.round, slot / BITS, bit_of(slot));
        }
        self.add_woken(woken);
        self.rotated_from = 0;
        if self.is_stalled() {
            self.rotate(self.first_visited + 1);
        }
        if self.remaining == 0 {
            self.next_group();
        }
        if self.has_more_groups || self.remaining & self.remaining.wrapping_sub(1) != 0 {
            self.stalled_rounds = self.stalled_rounds.saturating_add(1);
            self.first_visited = self.group * BITS + self.first_remaining();
        }
    }

    fn is_stalled(&self) -> bool {
        self.stalled_rounds >= STALLED_ROUNDS
    }

    /// Adds the slots that were woken to this round, except those that are free by now.
    fn add_woken(&mut self, mut top: Top) {
        while let Some(entry) = top.top_entry() {
            let (index, woken, below) = match entry {
                Entry::Member(slot) => (slot / BITS, bit_of(slot), Top::EMPTY),
                Entry::Group(index) => {
                    let (woken, below) = self.group(index).handle.take();
                    (index, woken, below)
                }
            };
            let mask = woken & self.group(index).slots.occupied();
            if mask != 0 {
                self.add_due(self.round, index, mask);
            }
            top = below;
        }
    }

    /// Begins the round with the slots from `first_slot` on; the others follow.
    #[cold]
    fn rotate(&mut self, first_slot: usize) {
        let index = first_slot / BITS;
        self.rotated_from = index + 1;
        self.group = index;
        self.in_push_order = false;
        let mask = usize::MAX << (first_slot % BITS);
        self.remaining = match index {
            0 => self.first.group.slots.take_due(self.round, mask),
            _ => self.further.take_due(self.round, index, mask),
        };
        self.has_more_groups = self.advance_to_due_group().is_some();
    }

    /// Returns the slots that this round still visits in its group. The round ends with `None`.
    #[inline]
    pub(crate) fn remaining(&self) -> Option<NonZero<usize>> {
        NonZero::new(self.remaining)
    }

    /// Returns the next slot of this round, and removes it from the round. The slots of the first
    /// group come in push order. `remaining` is what the method of this name returned just before.
    #[inline(always)]
    pub(crate) fn advance(&mut self, remaining: NonZero<usize>) -> Visit {
        debug_assert_eq!(remaining.get(), self.remaining);
        let index = self.group;
        let slot = match self.in_push_order {
            true => {
                let slot = self.first.first_pushed(remaining.get());
                self.remaining &= !(1 << slot);
                slot
            }
            false => {
                self.remaining = remaining.get() & (remaining.get() - 1);
                remaining.trailing_zeros() as usize
            }
        };
        if self.remaining == 0 && self.has_more_groups {
            self.next_group();
        }
        // SAFETY: the slot was occupied when it was added to the round.
        let group = unsafe { self.group_unchecked(index) };
        Visit::new(index * BITS + slot, group)
    }

    /// Returns the next slot of this round, and removes it from the round.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Visit> {
        let remaining = self.remaining()?;
        Some(self.advance(remaining))
    }

    /// Returns the slot of this group that `next` returns next.
    fn first_remaining(&self) -> usize {
        match self.in_push_order {
            true => self.first.first_pushed(self.remaining),
            false => self.remaining.trailing_zeros() as usize,
        }
    }

    /// Goes on to the next group of this round, if there is one.
    #[inline(never)]
    fn next_group(&mut self) {
        let Some(index) = self.advance_to_due_group() else {
            self.has_more_groups = false;
            return;
        };
        self.group = index;
        self.remaining = match index {
            0 => self.first.group.slots.take_due(self.round, usize::MAX),
            _ => self.further.take_due(self.round, index, usize::MAX),
        };
        self.in_push_order = index == 0 && self.first.has_order() && !self.is_stalled();
        self.has_more_groups = self.advance_to_due_group().is_some();
    }

    /// Returns the next group with slots to visit in this round. Wraps a rotated round if there is
    /// none until its end.
    fn advance_to_due_group(&mut self) -> Option<usize> {
        if self.rotated_from > 0 {
            let index = self.further.first_due_from(self.round, self.rotated_from);
            if index.is_some() {
                return index;
            }
            self.rotated_from = 0;
        }
        if self.first.group.slots.due(self.round) != 0 {
            return Some(0);
        }
        self.further.first_due(self.round)
    }

    /// Removes slot 0 from the round, and returns it if it was in it.
    pub(crate) fn visit_first(&mut self) -> Option<Visit> {
        if self.group != 0 || self.remaining & 1 == 0 {
            return None;
        }
        self.remaining &= !1;
        if self.remaining == 0 {
            self.next_group();
        }
        Some(self.visit(0))
    }

    /// Returns whether this round has another slot.
    #[inline]
    pub(crate) fn has_next(&self) -> bool {
        self.remaining != 0
    }

    /// Adds at least one slot of a group to a round.
    fn add_due(&mut self, round: Parity, index: usize, mask: usize) {
        match index {
            0 => self.first.group.slots.add_due(round, mask),
            _ => self.further.add_due(round, index, mask),
        }
    }

    /// Must be called after a slot was freed. `was_full` tells whether its group was full before.
    #[inline]
    pub(crate) fn freed(&mut self, slot: usize, was_full: bool) {
        self.stalled_rounds = 0;
        if was_full || self.first.has_order() {
            self.update_after_free(slot, was_full);
        }
    }

    #[inline(never)]
    fn update_after_free(&mut self, slot: usize, was_full: bool) {
        match slot / BITS {
            0 => self.first.remove_from_order(slot),
            index if was_full => self.further.reopen(index),
            _ => {}
        }
    }

    /// Removes a slot from this round and the next. The caller then frees the slot.
    pub(crate) fn unschedule(&mut self, slot: usize) {
        if matches!(self.scheduled, Scheduled::One(it) if it == slot) {
            self.scheduled = Scheduled::None;
        }
        if self.group == slot / BITS {
            self.remaining &= !bit_of(slot);
        }
        match slot / BITS {
            0 => self.first.group.slots.unschedule(slot),
            _ => self.further.unschedule(slot),
        }
        self.has_more_groups = self.advance_to_due_group().is_some();
        if self.remaining == 0 {
            self.next_group();
        }
    }

    #[inline]
    fn root(&self) -> &Root {
        &self.first.group.handle
    }

    #[inline(always)]
    fn group(&mut self, index: usize) -> &mut PolledGroup {
        match index {
            0 => self.first.group.as_group(),
            _ => self.further.group(index),
        }
    }

    /// # Safety
    ///
    /// There is a group with this index. That of an occupied slot exists, and so does one that a
    /// waker named, because groups are not removed.
    #[inline(always)]
    unsafe fn group_unchecked(&mut self, index: usize) -> &mut PolledGroup {
        match index {
            0 => self.first.group.as_group(),
            // SAFETY: the caller promises it.
            _ => unsafe { self.further.group_unchecked(index) },
        }
    }

    /// Returns an occupied slot.
    #[inline]
    pub(crate) fn visit(&mut self, slot: usize) -> Visit {
        Visit::new(slot, self.group(slot / BITS))
    }

    /// Returns the waker of the timer or the source, and whether it was woken since the previous
    /// call.
    #[inline]
    pub(crate) fn side_waker(&mut self, side: Side) -> (BorrowedWaker<'_>, bool) {
        let flag = Top::side(side);
        let was_woken = self.side_wakes & flag != 0;
        self.side_wakes &= !flag;
        (self.root().group().side_waker(side), was_woken)
    }

    /// Drops the parent's waker. Later wakes have no effect.
    pub(crate) fn close(&self) {
        self.root().close();
    }

    /// Returns the occupied slots in ascending order.
    pub(crate) fn occupied_slots(&self) -> impl Iterator<Item = usize> {
        set_bits(self.first.group.slots.occupied()).chain(self.further.occupied_slots())
    }
}

#[cfg(test)]
mod for_tests;
#[cfg(all(test, not(loom)))]
mod tests;
