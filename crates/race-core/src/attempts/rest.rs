use super::slots::Slots;

/// The attempts that are to be dropped, all of them, though one may panic.
pub(crate) struct Rest<'a, T, I: Iterator<Item = usize>> {
    slots: &'a Slots<T>,
    taken: I,
}

impl<'a, T, I: Iterator<Item = usize>> Rest<'a, T, I> {
    /// # Safety
    ///
    /// The slots hold a value each, come once each, and are not used again.
    pub(crate) unsafe fn new(slots: &'a Slots<T>, taken: I) -> Self {
        Self { slots, taken }
    }

    pub(crate) fn drop_all(&mut self) {
        for slot in &mut self.taken {
            // SAFETY: as `new` was promised.
            unsafe { self.slots.get(slot).drop_in_place() };
        }
    }
}

impl<T, I: Iterator<Item = usize>> Drop for Rest<'_, T, I> {
    fn drop(&mut self) {
        self.drop_all();
    }
}
