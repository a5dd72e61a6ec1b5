//! The wakers of members. Their data is the address of the group plus the number of the bit.

use core::{
    mem::{self, ManuallyDrop},
    ptr::NonNull,
    task::{RawWaker, RawWakerVTable},
};

use super::{
    group::{BITS, Group},
    handle::GroupHandle,
};

/// Each waker owns a handle to its group, except those that `GroupHandle::waker` lends.
pub(super) static VTABLE: RawWakerVTable =
    RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Returns the handle that the waker owns, and the number of the bit.
///
/// # Safety
///
/// `data` must be the data of a waker with `VTABLE` that has not been dropped.
#[inline]
unsafe fn member(data: *const ()) -> (ManuallyDrop<GroupHandle>, u8) {
    let bit = data.addr() % BITS;
    let group = data.wrapping_byte_sub(bit).cast::<Group>().cast_mut();
    // SAFETY: the data is the address of a group, which is not null and a multiple of `BITS`, plus
    // the bit.
    let group = unsafe { NonNull::new_unchecked(group) };
    (ManuallyDrop::new(GroupHandle(group)), bit as u8)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the functions of a vtable are called with the data of its wakers.
    let (group, _) = unsafe { member(data) };
    mem::forget(GroupHandle::clone(&group));
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as in `clone`.
    let (group, bit) = unsafe { member(data) };
    // The temporary drops the waker's handle after the wake, also if the wake panics.
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
