use super::{GroupHandle, MEMBERS, RootGroup, STACK};

/// For tests: a wake by a thread that has changed the word of a root from zero, and has not yet
/// taken the parent's waker.
#[must_use]
pub(crate) struct UnfinishedWake(GroupHandle);

impl UnfinishedWake {
    /// Begins to wake a member of a root.
    pub(crate) fn of_root(root: &RootGroup<MEMBERS>, bit: u8) -> Self {
        assert!(root.group().set(bit), "the root is not armed");
        Self(root.group().clone())
    }

    /// Begins to wake a member of a stacked group.
    pub(crate) fn of_group(
        root: &RootGroup<STACK>,
        group: &GroupHandle,
        index: usize,
        bit: u8,
    ) -> Self {
        let must_fire = group.set_or_push(root.group(), index, bit);
        assert!(must_fire, "the root is not armed");
        Self(root.group().clone())
    }

    pub(crate) fn finish(self) {
        self.0.fire();
    }
}
