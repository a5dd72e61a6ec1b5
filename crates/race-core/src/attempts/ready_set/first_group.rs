use alloc::boxed::Box;

use super::{group_slots::GroupSlots, push_order::PushOrder};

/// The slots of the first group, which are polled in the order of the pushes.
#[derive(Default)]
pub(super) struct FirstGroup {
    pub(super) slots: GroupSlots,
    /// `None` while the push order is the slot order.
    order: Option<Box<PushOrder>>,
}

impl FirstGroup {
    /// Returns whether the next slot to be occupied comes after all others in both orders. The
    /// group must not be full.
    #[inline]
    pub(super) fn can_append(&self) -> bool {
        self.order.is_none() && self.slots.has_no_gap()
    }

    /// Occupies the lowest free slot. The group must not be full.
    #[inline]
    pub(super) fn occupy(&mut self) -> usize {
        let others = self.slots.occupied();
        let slot = self.slots.occupy();
        if self.order.is_some() || others >= 1 << slot {
            self.push_in_order(slot, others);
        }
        slot
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
            Some(order) if self.slots.occupied() != 0 => order.remove(slot as u8),
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
