use alloc::boxed::Box;
use core::{ops::Deref, ptr::NonNull};

use super::{bits::BITS, group::Group, raw_waker, root::Root, stack::MAX_GROUPS};
use crate::{
    attempts::{BorrowedWaker, Side},
    sync::{Ordering, fence},
};

/// A counted reference to a group. The group lives as long as it has a handle.
pub(crate) struct GroupHandle(pub(super) NonNull<Group>);

// SAFETY: a group may be shared and dropped by any thread: its fields are atomics, or never change.
// The waker in `parent` has one owner at a time (see the module documentation), and is `Send`.
unsafe impl Send for GroupHandle {}
// SAFETY: as above.
unsafe impl Sync for GroupHandle {}

impl GroupHandle {
    pub(super) fn new(group: Group) -> Self {
        Self(NonNull::from(Box::leak(Box::new(group))))
    }

    /// Creates a group that is pushed, as group `index`, on the stack of `root`.
    ///
    /// # Panics
    ///
    /// Panics if there are too many groups; memory runs out before.
    pub(crate) fn on_stack_of(root: &Root, index: usize) -> Self {
        let index = u32::try_from(index).ok();
        let index = index.filter(|index| (*index as usize) < MAX_GROUPS);
        let index = index.expect("the set has too many attempts");
        Self::new(Group::on_stack_of(root.group().clone(), index))
    }

    /// Returns a waker for a member. A clone of it owns a handle.
    #[inline]
    pub(crate) fn waker(&self, bit: usize) -> BorrowedWaker<'_> {
        debug_assert!(bit < BITS);
        raw_waker::member(self, bit)
    }

    /// Returns a waker for the timer or the source of a root. A clone of it owns a handle.
    #[inline]
    pub(crate) fn side_waker(&self, side: Side) -> BorrowedWaker<'_> {
        raw_waker::side(self, side)
    }
}

impl Deref for GroupHandle {
    type Target = Group;

    #[inline]
    fn deref(&self) -> &Group {
        // SAFETY: the group lives as long as a handle, and `self` is one.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for GroupHandle {
    fn clone(&self) -> Self {
        // Relaxed: `self` keeps the group alive meanwhile.
        let handles = self.handles.fetch_add(1, Ordering::Relaxed);
        if handles > usize::MAX / 2 {
            abort();
        }
        Self(self.0)
    }
}

impl Drop for GroupHandle {
    #[inline]
    fn drop(&mut self) {
        if self.handles.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire: this thread sees every access through the other handles.
            fence(Ordering::Acquire);
            // SAFETY: this was the last handle.
            unsafe { free(self.0) };
        }
    }
}

/// # Safety
///
/// The group was made by `GroupHandle::new` and has no handle any more.
#[cold]
unsafe fn free(group: NonNull<Group>) {
    // SAFETY: the group was made by `Box::leak`, and nothing refers to it.
    drop(unsafe { Box::from_raw(group.as_ptr()) });
}

/// Aborts by a panic during a panic, since `no_std` has no `abort`. Only a program that leaks
/// wakers can overflow the count.
#[cold]
fn abort() -> ! {
    struct PanicOnDrop;
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("too many wakers");
        }
    }
    let _panic_again = PanicOnDrop;
    panic!("too many wakers");
}
