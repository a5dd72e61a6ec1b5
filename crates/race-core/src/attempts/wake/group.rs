use core::task::Waker;

use super::{
    handle::GroupHandle,
    stack::{StackTop, group_code, member_code},
};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};

/// The number of members of a group. Loom explores all interleavings, so its groups are small.
#[cfg(not(loom))]
pub(crate) const BITS: usize = usize::BITS as usize;
#[cfg(loom)]
pub(crate) const BITS: usize = 4;

/// A word with the bits of all members.
pub(crate) const ALL_BITS: usize = usize::MAX >> (usize::BITS as usize - BITS);

/// A group of wakers, in one cache line. The module documentation describes the protocol.
#[repr(align(64))]
pub(crate) struct Group {
    /// A bit for each woken member. In the root of a stack: the code of the top entry.
    pub(super) word: AtomicUsize,
    /// The number of handles: the owner's, one per waker, and one per group stacked on this root.
    pub(super) handles: AtomicUsize,
    /// The root on whose stack this group is pushed, and its index there. `None` in a root.
    stack: Option<(GroupHandle, usize)>,
    /// The code of the entry below this group on the stack.
    next: AtomicUsize,
    /// The parent's waker. Used in roots only.
    pub(super) parent: UnsafeCell<Option<Waker>>,
    /// Whether the thread that changed the word from zero is done with `parent`. Used in roots
    /// only.
    pub(super) fired: AtomicBool,
}

// The data of a waker is the address of the group plus the number of the bit.
const _: () = assert!(align_of::<Group>() >= BITS);
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Group>() == 64);

impl Group {
    /// Creates a root if `stack` is `None`. A root without a waker in `parent` belongs to the
    /// poller, so its `word` must not be zero.
    pub(super) fn new(stack: Option<(GroupHandle, usize)>, word: usize) -> Self {
        Self {
            word: AtomicUsize::new(word),
            handles: AtomicUsize::new(1),
            stack,
            next: AtomicUsize::new(0),
            parent: UnsafeCell::new(None),
            fired: AtomicBool::new(true),
        }
    }

    /// Wakes a member.
    pub(super) fn wake(&self, bit: u8) {
        let (root, must_fire) = match &self.stack {
            None => (self, self.set(bit)),
            Some((root, index)) => (&**root, self.set_or_push(root, *index, bit)),
        };
        if must_fire {
            root.fire();
        }
    }

    /// Sets a bit. Returns `true` if the word was zero; the caller must then notify the next level.
    pub(super) fn set(&self, bit: u8) -> bool {
        // Release: the poller that takes the bit sees what this thread did before the wake.
        // Acquire: the thread that changes the word from zero sees what the poller stored.
        self.word.fetch_or(1 << bit, Ordering::AcqRel) == 0
    }

    /// Wakes a member of a group that is not a root. Returns `true` if the stack was empty; the
    /// caller must then wake the parent.
    pub(super) fn set_or_push(&self, root: &Self, index: usize, bit: u8) -> bool {
        root.push_first(member_code(index, bit))
            || self.set(bit) && root.push(self, group_code(index))
    }

    /// Pushes an entry on the stack of this root if the stack is empty. Returns whether it did.
    fn push_first(&self, code: usize) -> bool {
        self.word.load(Ordering::Relaxed) == 0
            && self
                .word
                .compare_exchange(0, code, Ordering::AcqRel, Ordering::Relaxed) // as in `set`
                .is_ok()
    }

    /// Pushes a group on the stack of this root. Returns `true` if the stack was empty.
    fn push(&self, group: &Self, code: usize) -> bool {
        let mut top = self.word.load(Ordering::Relaxed);
        loop {
            group.next.store(top, Ordering::Relaxed);
            // As in `set`. Release also makes `next` visible to the poller that takes the stack.
            match self
                .word
                .compare_exchange_weak(top, code, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return top == 0,
                Err(changed) => top = changed,
            }
        }
    }

    /// Takes the bits of a group that was the top of a taken stack. Also returns the entry below.
    #[inline]
    pub(crate) fn take(&self) -> (usize, StackTop) {
        // `next` first: once the word is zero, another thread may push the group again.
        let next = StackTop(self.next.load(Ordering::Relaxed));
        (self.word.swap(0, Ordering::AcqRel), next)
    }

    /// Wakes the parent. Must be called by the thread that changed the word of this root from zero,
    /// once.
    pub(super) fn fire(&self) {
        // SAFETY: this thread changed the word from zero, so it owns `parent` until it sets
        // `fired`.
        let parent = self.parent.with_mut(|parent| unsafe { (*parent).take() });
        self.fired.store(true, Ordering::Release);
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}
