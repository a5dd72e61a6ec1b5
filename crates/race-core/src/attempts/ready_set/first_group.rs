use alloc::boxed::Box;

use super::{
    group_slots::{Parity, bit_of},
    polled_group::PolledGroup,
    push_order::PushOrder,
};
use crate::attempts::wake::Root;

/// The slots of the first group, which are polled in the order of the pushes.
pub(super) struct FirstGroup {
    pub(super) group: PolledGroup<Root>,
    /// `None` while the push order is the slot order.
    order: Option<Box<PushOrder>>,
}

impl FirstGroup {
    pub(super) fn new() -> Self {
        Self {
            group: PolledGroup::new(Root::new()),
            order: None,
        }
    }

    /// Occupies the lowest free slot if it comes after all others in both orders, and adds it to a
    /// round.
    #[inline(always)]
    pub(super) fn append(&mut self, round: Parity) -> Option<usize> {
        if self.order.is_some() || !self.group.slots.has_no_gap() {
            return None;
        }
        let slot = self.group.slots.occupy()?;
        self.group.slots.add_due(round, bit_of(slot));
        Some(slot)
    }

    /// Occupies the lowest free slot. Returns `None` if the group is full.
    #[inline]
    pub(super) fn occupy(&mut self) -> Option<usize> {
        let others = self.group.slots.occupied();
        let slot = self.group.slots.occupy()?;
        if self.order.is_some() || others >= 1 << slot {
            self.push_in_order(slot, others);
        }
        Some(slot)
    }

    #[cold]
    #[inline(never)]
    fn push_in_order(&mut self, slot: usize, others: usize) {
        let order = &mut self.order;
        let order = order.get_or_insert_with(|| Box::new(PushOrder::ascending(others)));
        order.push(slot as u8);
    }

    /// Returns whether the push order differs from the slot order.
    #[inline]
    pub(super) fn has_order(&self) -> bool {
        self.order.is_some()
    }

    /// Removes a slot that was freed from the order.
    pub(super) fn remove_from_order(&mut self, slot: usize) {
        match &mut self.order {
            Some(order) if self.group.slots.occupied() != 0 => order.remove(slot as u8),
            order => *order = None,
        }
    }

    /// Returns the slot in `mask` that was pushed first. All slots in `mask` must be occupied.
    #[cold]
    pub(super) fn first_pushed(&self, mask: usize) -> usize {
        let first = match &self.order {
            Some(order) if !mask.is_power_of_two() => order.first_of(mask),
            _ => None,
        };
        first.unwrap_or(mask.trailing_zeros() as usize)
    }
}
