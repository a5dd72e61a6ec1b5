use super::{
    handle::GroupHandle,
    parent::Parent,
    stack::{CLAIM, Top},
};
use crate::{
    attempts::Side,
    sync::{AtomicUsize, Ordering},
};

/// The number of members whose wakers share a vtable.
pub(super) const PER_VTABLE: usize = usize::BITS as usize / VTABLES;

/// The number of vtables of members.
pub(super) const VTABLES: usize = 4;

/// A group of wakers. The module documentation describes the protocol.
///
/// Aligned so that the low bits of its address can hold a part of a member's number. Allocators
/// align to this anyway. The root has the same type, so that the data of a waker always points to a
/// `Group`.
#[cfg_attr(target_pointer_width = "64", repr(align(16)))]
#[cfg_attr(not(target_pointer_width = "64"), repr(align(8)))]
pub(crate) struct Group {
    /// A bit for each woken member, except one that is on the stack by itself.
    word: AtomicUsize,
    /// The number of handles: the owner's, one per waker, and in the root one per other group.
    pub(super) handles: AtomicUsize,
    /// The root on whose stack this group is pushed. `None` in the root itself.
    root: Option<GroupHandle>,
    /// The index of this group. The root has index 0.
    index: u32,
    /// The entry below this group on the stack.
    next: AtomicUsize,
    /// The top of the stack. Used in the root only.
    pub(super) top: AtomicUsize,
    /// The parent's waker. Used in the root only.
    pub(super) parent: Parent,
}

const _: () = assert!(align_of::<Group>() >= PER_VTABLE);
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Group>() == 64);

impl Group {
    /// Creates a root without a parent. `top` is claimed, so the poller owns `parent`.
    pub(super) fn root() -> Self {
        Self::new(None, 0)
    }

    /// Creates a group that is pushed on the stack of `root`.
    pub(super) fn on_stack_of(root: GroupHandle, index: u32) -> Self {
        Self::new(Some(root), index)
    }

    fn new(root: Option<GroupHandle>, index: u32) -> Self {
        Self {
            word: AtomicUsize::new(0),
            handles: AtomicUsize::new(1),
            root,
            index,
            next: AtomicUsize::new(0),
            top: AtomicUsize::new(CLAIM),
            parent: Parent::empty(),
        }
    }

    #[inline]
    fn root_of(&self) -> &Self {
        match &self.root {
            None => self,
            Some(root) => root,
        }
    }

    /// Wakes a member.
    #[inline]
    pub(super) fn wake(&self, bit: u8) {
        let root = self.root_of();
        if self.set_or_push(root, bit) {
            root.wake_parent();
        }
    }

    /// Wakes the timer or the source. Must be called on the root.
    #[inline]
    pub(super) fn wake_side(&self, side: Side) {
        if self.top.fetch_or(Top::side(side).into(), Ordering::AcqRel) == 0 {
            self.wake_parent();
        }
    }

    /// Sets the bit of a member or pushes it by itself. Returns `true` if `top` was zero; the
    /// caller must then wake the parent.
    #[inline]
    pub(super) fn set_or_push(&self, root: &Self, bit: u8) -> bool {
        root.push_first(Top::member(self.index, bit)) || self.set(bit) && root.push(self)
    }

    /// Sets a bit. Returns `true` if the word was zero; the caller must then push the group.
    fn set(&self, bit: u8) -> bool {
        // Release: the poller that takes the bit sees what this thread did before the wake.
        // Acquire: the thread that changes the word from zero may push the group, after the poller
        // that took it has read `next`.
        self.word.fetch_or(1 << bit, Ordering::AcqRel) == 0
    }

    /// Pushes an entry on the stack of this root if `top` is zero. Returns whether it did.
    #[inline]
    fn push_first(&self, member: Top) -> bool {
        self.top.load(Ordering::Relaxed) == 0
            && self
                .top
                // Release: as in `set`. Acquire: this thread sees the parent that the poller
                // stored.
                .compare_exchange(0, member.0, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Pushes a group on the stack of this root. Returns `true` if `top` was zero.
    fn push(&self, group: &Self) -> bool {
        let mut top = Top(self.top.load(Ordering::Relaxed));
        loop {
            group.next.store(top.stack(), Ordering::Relaxed);
            // As in `push_first`. Release also makes `next` visible to the poller.
            match self.top.compare_exchange_weak(
                top.0,
                top.with_group(group.index),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return top.0 == 0,
                Err(changed) => top = Top(changed),
            }
        }
    }

    /// Takes the bits of a group that was the top of a taken stack. Also returns the entry below.
    #[inline]
    pub(crate) fn take(&self) -> (usize, Top) {
        // `next` first: once the word is zero, another thread may push the group again.
        let next = Top(self.next.load(Ordering::Relaxed));
        (self.word.swap(0, Ordering::AcqRel), next)
    }

    /// Wakes the parent. Must be called by the thread that changed `top` of this root from zero,
    /// once.
    #[inline]
    pub(super) fn wake_parent(&self) {
        // SAFETY: this thread changed `top` from zero, so it owns `parent` until it has taken it.
        if let Some(parent) = unsafe { self.parent.take() } {
            parent.wake();
        }
    }
}
