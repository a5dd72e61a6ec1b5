use super::storage::Storage;

/// Drops all attempts of a set, even if one of them panics.
pub(crate) struct DropAll<'a, F, A, I: Iterator<Item = usize>> {
    storage: &'a Storage<F, A>,
    occupied: I,
}

impl<'a, F, A, I: Iterator<Item = usize>> DropAll<'a, F, A, I> {
    /// # Safety
    ///
    /// `occupied` yields occupied slots, each once. These slots are not used again. Slot 1 is
    /// allocated.
    pub(crate) unsafe fn new(storage: &'a Storage<F, A>, occupied: I) -> Self {
        Self { storage, occupied }
    }

    pub(crate) fn run(&mut self) {
        for slot in &mut self.occupied {
            // SAFETY: the caller of `new` promised that the slot is occupied and used only here.
            unsafe { self.storage.place(slot).drop() };
        }
    }
}

/// Drops the remaining attempts if `run` was interrupted by a panic, or was not reached.
impl<F, A, I: Iterator<Item = usize>> Drop for DropAll<'_, F, A, I> {
    fn drop(&mut self) {
        self.run();
    }
}
