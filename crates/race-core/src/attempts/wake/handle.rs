use alloc::boxed::Box;
use core::{
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull,
    task::{RawWaker, Waker},
};

use super::{
    group::{BITS, Group},
    parent_waker::{RootGroup, STACK},
    raw_waker::VTABLE,
};
use crate::sync::{Ordering, fence};

/// A counted reference to a group. The group lives as long as it has a handle.
pub(crate) struct GroupHandle(pub(super) NonNull<Group>);

// SAFETY: a group may be shared and dropped by any thread: its fields are atomics, except `stack`,
// which never changes, and `parent`, which has one owner at a time (see the module documentation)
// and holds a `Waker`, which is `Send`.
unsafe impl Send for GroupHandle {}
// SAFETY: as above.
unsafe impl Sync for GroupHandle {}

impl GroupHandle {
    pub(super) fn new(group: Group) -> Self {
        Self(NonNull::from(Box::leak(Box::new(group))))
    }

    /// Creates a group that is pushed, as entry `index`, on the stack of `root`.
    pub(crate) fn on_stack_of(root: &RootGroup<STACK>, index: usize) -> Self {
        Self::new(Group::new(Some((root.group().clone(), index)), 0))
    }

    /// Returns a borrowed waker for a member. A clone of it owns a handle.
    #[inline]
    pub(crate) fn waker(&self, bit: u8) -> ManuallyDrop<Waker> {
        debug_assert!(usize::from(bit) < BITS);
        let member = self.0.as_ptr().cast::<()>().wrapping_byte_add(bit.into());
        // SAFETY: `VTABLE` satisfies the contract of `RawWaker`. This waker owns no handle and is
        // never dropped. It is valid as long as `self`, from which callers borrow it.
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(member, &VTABLE)) })
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
    fn drop(&mut self) {
        if self.handles.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire: this thread sees every access through the other handles.
            fence(Ordering::Acquire);
            // SAFETY: the group was made by `Box::leak`, and this was its last handle.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// Aborts by a panic during a panic, since `no_std` has no `abort`. Only a program that leaks
/// wakers can overflow the count.
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
