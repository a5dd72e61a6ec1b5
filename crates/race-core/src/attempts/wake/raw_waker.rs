//! The wakers of members, and those of the timer and the source.
//!
//! The data of a waker is the address of the group plus the low part of the number of the bit, or
//! the number of the side. The high part of the number of the bit selects the vtable.

use core::{
    mem::{self, ManuallyDrop},
    ptr::NonNull,
    task::{RawWaker, RawWakerVTable, Waker},
};

use super::{
    group::{Group, PER_VTABLE, VTABLES},
    handle::GroupHandle,
};
use crate::attempts::{BorrowedWaker, Side};

/// What a waker wakes. Each waker owns a handle to its group, except borrowed ones.
trait Target {
    fn vtable() -> &'static RawWakerVTable;

    /// `low` is the number in the data.
    fn wake(group: &Group, low: usize);
}

/// A member whose bit is `PER_VTABLE * HIGH` plus the number in the data.
struct Member<const HIGH: usize>;

impl<const HIGH: usize> Target for Member<HIGH> {
    fn vtable() -> &'static RawWakerVTable {
        &MEMBERS[HIGH]
    }

    #[inline]
    fn wake(group: &Group, low: usize) {
        group.wake((HIGH * PER_VTABLE + low) as u8);
    }
}

struct OfSide;

impl Target for OfSide {
    fn vtable() -> &'static RawWakerVTable {
        &SIDES
    }

    #[inline]
    fn wake(root: &Group, side: usize) {
        root.wake_side(match side {
            0 => Side::Timer,
            _ => Side::Source,
        });
    }
}

// Statics have one address each, which `will_wake` compares.
static MEMBERS: [RawWakerVTable; VTABLES] = [
    vtable::<Member<0>>(),
    vtable::<Member<1>>(),
    vtable::<Member<2>>(),
    vtable::<Member<3>>(),
];
static SIDES: RawWakerVTable = vtable::<OfSide>();

const fn vtable<T: Target>() -> RawWakerVTable {
    RawWakerVTable::new(clone::<T>, wake::<T>, wake_by_ref::<T>, drop_waker)
}

/// Returns the waker of a member of a group.
#[inline]
pub(super) fn member(group: &GroupHandle, bit: usize) -> BorrowedWaker<'_> {
    borrowed(
        group,
        bit % PER_VTABLE,
        &MEMBERS[bit / PER_VTABLE % VTABLES],
    )
}

/// Returns the waker of the timer or the source of a root.
#[inline]
pub(super) fn side(root: &GroupHandle, side: Side) -> BorrowedWaker<'_> {
    borrowed(root, side as usize, &SIDES)
}

#[inline]
fn borrowed<'a>(
    group: &'a GroupHandle,
    low: usize,
    vtable: &'static RawWakerVTable,
) -> BorrowedWaker<'a> {
    let data = group.0.as_ptr().cast::<()>().wrapping_byte_add(low);
    // SAFETY: the vtable satisfies the contract of `RawWaker`. This waker owns no handle and is
    // never dropped; the group lives as long as the handle from which it is borrowed.
    unsafe { BorrowedWaker::new(Waker::from_raw(RawWaker::new(data, vtable))) }
}

/// Returns the handle that the waker owns, and the number in its data.
///
/// # Safety
///
/// `data` must be the data of a waker of this module that has not been dropped.
#[inline]
unsafe fn group(data: *const ()) -> (ManuallyDrop<GroupHandle>, usize) {
    let low = data.addr() % PER_VTABLE;
    let group = data.wrapping_byte_sub(low).cast::<Group>().cast_mut();
    // SAFETY: the data is the address of a group, which is not null and a multiple of `PER_VTABLE`,
    // plus the number, which is less.
    let group = unsafe { NonNull::new_unchecked(group) };
    (ManuallyDrop::new(GroupHandle(group)), low)
}

unsafe fn clone<T: Target>(data: *const ()) -> RawWaker {
    // SAFETY: the functions of a vtable are called with the data of its wakers.
    let (group, _) = unsafe { group(data) };
    mem::forget(GroupHandle::clone(&group));
    RawWaker::new(data, T::vtable())
}

unsafe fn wake<T: Target>(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, low) = unsafe { group(data) };
    // Dropped after the wake, also if the wake panics.
    let group = ManuallyDrop::into_inner(group);
    T::wake(&group, low);
}

unsafe fn wake_by_ref<T: Target>(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, low) = unsafe { group(data) };
    T::wake(&group, low);
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, _) = unsafe { group(data) };
    drop(ManuallyDrop::into_inner(group));
}
