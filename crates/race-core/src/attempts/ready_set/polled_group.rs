use super::group_slots::GroupSlots;
use crate::attempts::wake::{GroupHandle, Root};

/// A group of wakers and its slots. Side by side, so that one pointer leads to both.
///
/// `H` is a [`GroupHandle`], or the [`Root`] in the first group. Both have the same layout.
#[repr(C)]
pub(super) struct PolledGroup<H = GroupHandle> {
    pub(super) handle: H,
    pub(super) slots: GroupSlots,
}

impl<H> PolledGroup<H> {
    pub(super) fn new(handle: H) -> Self {
        Self {
            handle,
            slots: GroupSlots::default(),
        }
    }
}

impl PolledGroup<Root> {
    /// Returns the group as one like the others.
    #[inline]
    pub(super) fn as_group(&mut self) -> &mut PolledGroup {
        let group = core::ptr::from_mut(self).cast::<PolledGroup>();
        // SAFETY: `PolledGroup` is `repr(C)`, and a `Root` is `repr(transparent)` around a handle.
        // The callers only read the handle and never replace it.
        unsafe { &mut *group }
    }
}
