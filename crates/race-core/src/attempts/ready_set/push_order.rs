use crate::attempts::{bit_set::set_bits, wake::BITS};

/// The order in which the slots of the first group were filled, if it is not the slot order.
pub(crate) struct PushOrder {
    slots: [u8; BITS],
    len: usize,
}

impl PushOrder {
    /// Creates the order of the slots in `occupied`, which were filled in ascending order.
    pub(crate) fn ascending(occupied: usize) -> Self {
        let mut order = Self {
            slots: [0; BITS],
            len: 0,
        };
        set_bits(occupied).for_each(|slot| order.push(slot as u8));
        order
    }

    pub(crate) fn push(&mut self, slot: u8) {
        self.slots[self.len] = slot;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, slot: u8) {
        if let Some(index) = self.slots[..self.len].iter().position(|it| *it == slot) {
            self.slots.copy_within(index + 1..self.len, index);
            self.len -= 1;
        }
    }

    /// Returns the slot in `mask` that was filled first.
    pub(crate) fn first_of(&self, mask: usize) -> Option<usize> {
        let mut slots = self.slots[..self.len].iter().copied().map(usize::from);
        slots.find(|slot| mask >> slot & 1 == 1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn refilled_slot_comes_last() {
        let mut order = PushOrder::ascending(0b1011);
        order.remove(0);
        order.push(0);
        assert_eq!(order.first_of(0b1011), Some(1));
        assert_eq!(order.first_of(0b1001), Some(3));
        assert_eq!(order.first_of(0b0001), Some(0));
        assert_eq!(order.first_of(0b0100), None);
    }
}
