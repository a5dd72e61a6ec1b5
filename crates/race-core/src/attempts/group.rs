//! A group of up to 64 wakers in one cache line, and the stack of groups that are awake.
//!
//! The word of a group has a bit for each member. To wake a member is to set its bit: one `fetch_or`.
//! Whoever turns the word from zero passes it on: from a root to the parent task; from any other group
//! to its root, whose word is the top of a stack of such groups, linked by `next`. The poller takes a
//! word whole and leaves zero.
//!
//! A group is on the stack at most once, for only turning its word from zero puts it there, and only
//! the poller makes the word zero, after it took the stack and read `next`. The stack is taken whole,
//! so that a top which came back is as good as one that stayed. On an empty stack a member is put
//! alone, without its group; so to wake the first costs one exchange, and to find it another.
//!
//! # Who owns the parent's waker
//!
//! A root keeps the parent's waker in `parent`, without a lock. It belongs
//!
//! - while the root's word is zero, to nobody: the root is *armed*;
//! - to the thread that turned the word from zero, until that thread has taken the waker out and set
//!   `fired`;
//! - otherwise to the poller, which alone turns the word back to zero.
//!
//! The word is left zero only by the poller, and only with a waker in place and `fired` false. So
//! there is at most one thread between turning the word and setting `fired`, and a wake is never
//! lost: it either turns the word, and then wakes the parent, or finds it turned by another whose
//! wake, or the poller's next visit, is still to come.

use alloc::boxed::Box;
use core::{
    mem::{self, ManuallyDrop},
    ops::Deref,
    ptr::NonNull,
    task::{RawWaker, RawWakerVTable, Waker},
};

use super::{
    root::{Root, STACK},
    stack::{Top, code, code_of_member},
};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell, fence};

/// How many bits of its word a group uses: all, but for loom, which looks at every interleaving.
#[cfg(not(loom))]
pub(crate) const BITS: usize = usize::BITS as usize;
#[cfg(loom)]
pub(crate) const BITS: usize = 4;

/// All of these bits.
pub(crate) const ALL_BITS: usize = usize::MAX >> (usize::BITS as usize - BITS);

#[repr(align(64))]
pub(crate) struct Group {
    /// A bit for each member; or, of the root of a stack, the code of what is on top.
    pub(super) word: AtomicUsize,
    /// The handles to this group: its owner's, its wakers', and those of the groups below it.
    handles: AtomicUsize,
    /// The root of the stack that this group goes on when it is awake, and its index there.
    stack: Option<(GroupHandle, usize)>,
    /// The code of what is below it on the stack.
    next: AtomicUsize,
    /// See the module's documentation. A group that is not a root does not use these two.
    pub(super) parent: UnsafeCell<Option<Waker>>,
    pub(super) fired: AtomicBool,
}

// A waker's data is the group's address with the member's bit in the low bits.
const _: () = assert!(align_of::<Group>() >= BITS);
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Group>() == 64);

impl Group {
    /// Wakes a member.
    fn wake(&self, bit: u8) {
        let (root, turned) = match &self.stack {
            None => (self, self.set(bit)),
            Some((root, index)) => {
                let alone = root.put_first(code_of_member(*index, bit));
                (
                    &**root,
                    alone || self.set(bit) && root.push(self, code(*index)),
                )
            }
        };
        if turned {
            root.fire();
        }
    }

    /// Sets a bit. Whoever turns the word from zero, which this says, must pass it on.
    fn set(&self, bit: u8) -> bool {
        // Release: what the waker did before is seen by the poller that takes the bit. Acquire: what
        // the poller left for who turns the word is seen here.
        self.word.fetch_or(1 << bit, Ordering::AcqRel) == 0
    }

    /// Puts something on the stack of which this is the root, if it is empty. Says so if it was.
    fn put_first(&self, code: usize) -> bool {
        self.word.load(Ordering::Relaxed) == 0
            && self
                .word
                .compare_exchange(0, code, Ordering::AcqRel, Ordering::Relaxed) // as in `set`
                .is_ok()
    }

    /// Puts a group on the stack of which this is the root. Says whether the stack was empty.
    fn push(&self, group: &Group, code: usize) -> bool {
        let mut top = self.word.load(Ordering::Relaxed);
        loop {
            group.next.store(top, Ordering::Relaxed);
            // As in `set`; also, the poller that takes the stack sees `next`.
            match self
                .word
                .compare_exchange_weak(top, code, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return top == 0,
                Err(changed) => top = changed,
            }
        }
    }

    /// Wakes the parent. Whoever turned a root's word from zero must do this.
    fn fire(&self) {
        // SAFETY: this thread turned the word from zero, so the waker is its own until it sets `fired`.
        let parent = self.parent.with_mut(|parent| unsafe { (*parent).take() });
        self.fired.store(true, Ordering::Release);
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

/// A counted handle to a group, which lives as long as there is one.
pub(crate) struct GroupHandle(NonNull<Group>);

// SAFETY: what the handles share is atomic, or owned by one thread at a time as the module's
// documentation says.
unsafe impl Send for GroupHandle {}
// SAFETY: as above.
unsafe impl Sync for GroupHandle {}

impl GroupHandle {
    /// A group on a stack, if given, or a root; and its word.
    pub(super) fn new(stack: Option<(GroupHandle, usize)>, word: usize) -> Self {
        let group = Box::new(Group {
            word: AtomicUsize::new(word),
            handles: AtomicUsize::new(1),
            stack,
            next: AtomicUsize::new(0),
            parent: UnsafeCell::new(None),
            fired: AtomicBool::new(true),
        });
        Self(NonNull::from(Box::leak(group)))
    }

    /// A group that goes on a stack when it is awake, there to be known by `index`.
    pub(crate) fn on_stack_of(root: &Root<STACK>, index: usize) -> Self {
        Self::new(Some((root.group().clone(), index)), 0)
    }

    /// A borrowed waker for a member, to be cloned by whoever keeps it.
    #[inline]
    pub(crate) fn waker(&self, bit: u8) -> ManuallyDrop<Waker> {
        debug_assert!(usize::from(bit) < BITS);
        let member = self.0.as_ptr().cast::<()>().wrapping_byte_add(bit.into());
        // SAFETY: the table keeps the contract of `RawWaker`. This waker counts as no handle, and is
        // never dropped; it is borrowed from `self`, which is one.
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(member, &TABLE)) })
    }

    /// Takes the bits that were set, of a group that came from the top of the stack, and what is on
    /// top without it.
    #[inline]
    pub(crate) fn take(&self) -> (usize, Top) {
        // In this order: once the word is zero, another thread may put it on the stack again.
        let next = Top(self.next.load(Ordering::Relaxed));
        (self.word.swap(0, Ordering::AcqRel), next)
    }
}

impl Deref for GroupHandle {
    type Target = Group;

    #[inline]
    fn deref(&self) -> &Group {
        // SAFETY: the group lives as long as a handle does.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for GroupHandle {
    fn clone(&self) -> Self {
        // Relaxed: another handle keeps the group alive meanwhile.
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
            // Sees all that the other handles did before they went.
            fence(Ordering::Acquire);
            // SAFETY: it came from a box, and this was the last handle.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// More handles than can be counted, which only leaking them brings about.
fn abort() -> ! {
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("too many wakers");
        }
    }
    let _twice = Twice;
    panic!("too many wakers");
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The group and the bit of a member.
///
/// # Safety
///
/// `member` must be the data of a waker of this table.
#[inline]
unsafe fn member(member: *const ()) -> (ManuallyDrop<GroupHandle>, u8) {
    let bit = member.addr() % BITS;
    let group = member.wrapping_byte_sub(bit).cast::<Group>().cast_mut();
    // SAFETY: such data is a group's address, which is not null, plus the bit.
    let group = unsafe { NonNull::new_unchecked(group) };
    (ManuallyDrop::new(GroupHandle(group)), bit as u8)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: it is called with the data of a waker of this table.
    let (group, _) = unsafe { member(data) };
    mem::forget(GroupHandle::clone(&group));
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, bit) = unsafe { member(data) };
    // The waker's own handle, given up here, also if waking panics.
    ManuallyDrop::into_inner(group).wake(bit);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, bit) = unsafe { member(data) };
    group.wake(bit);
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, _) = unsafe { member(data) };
    drop(ManuallyDrop::into_inner(group));
}
