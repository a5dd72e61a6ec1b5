use alloc::{boxed::Box, vec::Vec};

use super::{
    group_slots::{GroupSlots, Parity, bit_of},
    polled_group::PolledGroup,
};
use crate::attempts::{
    bit_set::{BitSet, set_bits},
    wake::{BITS, GroupHandle, Root},
};

/// The groups after the first one. Their indices begin with 1.
#[derive(Default)]
pub(super) struct FurtherGroups {
    /// The group with index 1 comes first.
    groups: Vec<FurtherGroup>,
    /// The groups with slots to poll, for each parity of a round. `None` if there is no group.
    due: Option<Box<[BitSet; 2]>>,
    /// The head of the list of groups with a free slot; 0 if it is empty.
    open: usize,
}

struct FurtherGroup {
    group: PolledGroup,
    /// The next group in the list of those with a free slot; 0 at its end.
    next_open: usize,
}

impl FurtherGroups {
    #[inline]
    pub(super) fn group(&mut self, index: usize) -> &mut PolledGroup {
        &mut self.groups[index - 1].group
    }

    /// # Safety
    ///
    /// There is a group with this index.
    #[inline(always)]
    pub(super) unsafe fn group_unchecked(&mut self, index: usize) -> &mut PolledGroup {
        debug_assert!((1..=self.groups.len()).contains(&index));
        // SAFETY: the caller promises it.
        &mut unsafe { self.groups.get_unchecked_mut(index.wrapping_sub(1)) }.group
    }

    /// Returns the set of groups with slots to poll in a round.
    fn due_mut(&mut self, round: Parity) -> &mut BitSet {
        let due = self.due.as_mut();
        &mut due.expect("there is a group")[usize::from(round)]
    }

    /// Occupies a free slot.
    pub(super) fn occupy(&mut self, root: &Root) -> usize {
        if self.open == 0 {
            self.add_group(root);
        }
        let slot = self.occupy_open();
        slot.expect("`add_group` opens a group").1
    }

    /// Occupies a free slot. Returns it with its group, or `None` if all groups are full.
    #[inline(always)]
    pub(super) fn occupy_open(&mut self) -> Option<(&mut GroupSlots, usize)> {
        let index = self.open;
        let group = self.groups.get_mut(index.wrapping_sub(1))?;
        let slot = group.group.slots.occupy()?;
        if group.group.slots.is_full() {
            self.open = group.next_open;
        }
        Some((&mut group.group.slots, index * BITS + slot))
    }

    /// Occupies a free slot and adds it to a round. Returns `None` if all groups are full.
    #[inline(always)]
    pub(super) fn push(&mut self, round: Parity) -> Option<usize> {
        let (group, slot) = self.occupy_open()?;
        let was_due = group.due(round) != 0;
        group.add_due(round, bit_of(slot));
        if !was_due {
            self.insert_due(round, slot / BITS);
        }
        Some(slot)
    }

    #[cold]
    #[inline(never)]
    fn insert_due(&mut self, round: Parity, index: usize) {
        self.due_mut(round).insert(index);
    }

    #[cold]
    fn add_group(&mut self, root: &Root) {
        let index = self.groups.len() + 1;
        let due = self.due.get_or_insert_default();
        due.iter_mut().for_each(|due| due.reserve(index));
        self.groups.push(FurtherGroup {
            group: PolledGroup::new(GroupHandle::on_stack_of(root, index)),
            next_open: 0,
        });
        self.open = index;
    }

    /// Adds a group, which was full until a slot was freed, to the list of groups with a free slot.
    pub(super) fn reopen(&mut self, index: usize) {
        let next_open = self.open;
        self.open = index;
        self.groups[index - 1].next_open = next_open;
    }

    /// Adds at least one slot of a group to a round.
    pub(super) fn add_due(&mut self, round: Parity, index: usize, mask: usize) {
        self.group(index).slots.add_due(round, mask);
        self.due_mut(round).insert(index);
    }

    /// Returns the first group with slots to poll in a round.
    #[inline]
    pub(super) fn first_due(&mut self, round: Parity) -> Option<usize> {
        self.due.as_mut()?[usize::from(round)].first()
    }

    /// Returns the first such group whose index is not below `index`.
    pub(super) fn first_due_from(&self, round: Parity, index: usize) -> Option<usize> {
        self.due.as_ref()?[usize::from(round)].first_from(index)
    }

    /// Removes the slots in `mask` of a group, if it exists, from a round. Returns those that were
    /// in the round.
    #[inline]
    pub(super) fn take_due(&mut self, round: Parity, index: usize, mask: usize) -> usize {
        let Some(group) = self.groups.get_mut(index - 1) else {
            return 0;
        };
        let taken = group.group.slots.take_due(round, mask);
        if group.group.slots.due(round) == 0 {
            self.due_mut(round).remove(index);
        }
        taken
    }

    /// Removes a slot from both rounds.
    pub(super) fn unschedule(&mut self, slot: usize) {
        let index = slot / BITS;
        self.group(index).slots.unschedule(slot);
        for round in [false, true] {
            if self.group(index).slots.due(round) == 0 {
                self.due_mut(round).remove(index);
            }
        }
    }

    /// Returns the occupied slots in ascending order.
    pub(super) fn occupied_slots(&self) -> impl Iterator<Item = usize> {
        let groups = (1..).zip(&self.groups);
        groups.flat_map(|(index, group)| {
            set_bits(group.group.slots.occupied()).map(move |bit| index * BITS + bit)
        })
    }
}
