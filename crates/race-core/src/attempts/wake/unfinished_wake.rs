use super::{GroupHandle, Root};

/// For tests: a wake by a thread that has changed `top` of a root from zero, and has not yet taken
/// the parent's waker.
#[must_use]
pub(crate) struct UnfinishedWake(GroupHandle);

impl UnfinishedWake {
    /// Begins to wake a member of a group of `root`.
    pub(crate) fn begin(root: &Root, group: &GroupHandle, bit: u8) -> Self {
        let must_wake_parent = group.set_or_push(root.group(), bit);
        assert!(must_wake_parent, "the root is not armed");
        Self(root.group().clone())
    }

    pub(crate) fn finish(self) {
        self.0.wake_parent();
    }
}
