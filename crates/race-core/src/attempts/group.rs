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
    ptr::{self, NonNull},
    task::{RawWaker, RawWakerVTable, Waker},
};

use super::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell, fence, spin_hint};

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
    word: AtomicUsize,
    /// The handles to this group: its owner's, its wakers', and those of the groups below it.
    handles: AtomicUsize,
    /// The root of the stack that this group goes on when it is awake, and its index there.
    stack: Option<(GroupHandle, usize)>,
    /// The code of what is below it on the stack.
    next: AtomicUsize,
    /// See the module's documentation. A group that is not a root does not use these two.
    parent: UnsafeCell<Option<Waker>>,
    fired: AtomicBool,
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
    fn new(stack: Option<(GroupHandle, usize)>, word: usize) -> Self {
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
        Self::new(Some((root.group.clone(), index)), 0)
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

/// What is on top of a stack that was taken.
#[derive(Clone, Copy)]
pub(crate) struct Top(usize);

/// What a `Top` stands for.
pub(crate) enum Awake {
    /// A group, and perhaps something below it.
    Group(usize),
    /// A member of a group, by index and bit, with nothing below it.
    Member(usize, u8),
}

impl Top {
    #[inline]
    pub(crate) fn awake(self) -> Option<Awake> {
        let number = (self.0 >> 2).checked_sub(1)?;
        Some(match self.0 & MEMBER {
            0 => Awake::Group(number),
            _ => Awake::Member(number / BITS, (number % BITS) as u8),
        })
    }
}

/// Marks the code of a member. (The lowest bit is left to `STACK`, and no code is zero.)
const MEMBER: usize = 2;

fn code(index: usize) -> usize {
    (index + 1) << 2
}

fn code_of_member(index: usize, bit: u8) -> usize {
    code(index * BITS + usize::from(bit)) | MEMBER
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

/// The bit by which the poller turns the word of a root that has members. They are the bits below it.
pub(crate) const MEMBERS: usize = 1 << (BITS - 1);

/// The bit by which the poller turns the word of the root of a stack.
pub(crate) const STACK: usize = 1;

/// A root, and the poller's side of the protocol. `CLAIM` is `MEMBERS` or `STACK`.
pub(crate) struct Root<const CLAIM: usize> {
    group: GroupHandle,
    /// What the waker in the root was made of, while one is there: its data and its table.
    armed: Option<Identity>,
}

type Identity = (*const (), *const RawWakerVTable);

// SAFETY: `armed` is compared and never followed; the rest is a handle.
unsafe impl<const CLAIM: usize> Send for Root<CLAIM> {}

impl Root<MEMBERS> {
    /// See [`GroupHandle::waker`].
    #[inline]
    pub(crate) fn waker(&self, bit: u8) -> ManuallyDrop<Waker> {
        self.group.waker(bit)
    }
}

impl Root<STACK> {
    /// As `arm`; takes the stack.
    #[inline]
    pub(crate) fn arm_stack(&mut self, waker: &Waker) -> Top {
        Top(self.arm(waker))
    }
}

impl<const CLAIM: usize> Root<CLAIM> {
    pub(crate) fn new() -> Self {
        // Not armed: the poller owns the waker, of which there is none.
        Self {
            group: GroupHandle::new(None, CLAIM),
            armed: None,
        }
    }

    /// Sees to it that the next wake wakes `waker`, then takes the word.
    #[inline]
    pub(crate) fn arm(&mut self, waker: &Waker) -> usize {
        let group = &*self.group;
        let this = Some((waker.data(), ptr::from_ref(waker.vtable())));
        if group.fired.load(Ordering::Acquire) {
            return self.rearm(waker.clone(), this);
        }
        if self.armed == this && group.word.load(Ordering::Relaxed) == 0 {
            // Whatever is set from here on wakes this very waker.
            return 0;
        }
        self.arm_slowly(waker, this)
    }

    /// The root is armed with another waker, or another thread is about to take the waker.
    #[cold]
    fn arm_slowly(&mut self, waker: &Waker, this: Option<Identity>) -> usize {
        let group = &*self.group;
        if self.armed != this {
            let owned = waker.clone(); // before anything has changed, should it panic
            // Zero: the poller itself has turned the word.
            if group.word.fetch_or(CLAIM, Ordering::AcqRel) == 0
                || group.fired.load(Ordering::Acquire)
            {
                return self.rearm(owned, this);
            }
        } else if group.fired.load(Ordering::Acquire) {
            return self.rearm(waker.clone(), this);
        }
        // Another thread turned the word, and has not taken the waker yet. The word stays turned, and
        // is armed by the next poll. That thread's wake leads to it, if the waker is the same.
        let word = group.word.swap(CLAIM, Ordering::AcqRel) & !CLAIM;
        if self.armed != this {
            spin_hint();
            waker.wake_by_ref();
        }
        word
    }

    /// Puts a waker in place and leaves the word zero. The waker's place must be the poller's.
    #[inline]
    fn rearm(&mut self, waker: Waker, this: Option<Identity>) -> usize {
        let group = &*self.group;
        // SAFETY: the word is not zero and no other thread is about to take the waker, so its place
        // belongs to the poller.
        let old = group
            .parent
            .with_mut(|parent| unsafe { (*parent).replace(waker) });
        group.fired.store(false, Ordering::Relaxed);
        self.armed = this;
        // Release: the waker and `fired` are seen by who turns the word next.
        let word = group.word.swap(0, Ordering::AcqRel) & !CLAIM;
        drop(old); // user code, which may wake
        word
    }

    /// Lets go of the parent's waker. From here on wakes do nothing.
    pub(crate) fn close(&mut self) {
        let group = &*self.group;
        let turned = group.word.fetch_or(CLAIM, Ordering::AcqRel) != 0;
        if turned && !group.fired.load(Ordering::Acquire) {
            return; // another thread is taking it out
        }
        // SAFETY: the poller turned the word itself, or the one who did is done with the waker.
        let parent = group.parent.with_mut(|parent| unsafe { (*parent).take() });
        drop(parent);
    }
}

impl<const CLAIM: usize> Drop for Root<CLAIM> {
    fn drop(&mut self) {
        self.close();
    }
}
