use core::{
    sync::atomic::{AtomicBool, Ordering},
    task::{RawWaker, RawWakerVTable, Waker},
};

/// Returns a waker that sets a flag. It needs no allocator.
pub(crate) fn flag_waker(flag: &'static AtomicBool) -> Waker {
    // SAFETY: the data is a reference to a flag that lives forever and may be shared by threads.
    unsafe { Waker::new(data(flag), &VTABLE) }
}

const VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_| {});

fn data(flag: &'static AtomicBool) -> *const () {
    core::ptr::from_ref(flag).cast()
}

fn wake(data: *const ()) {
    // SAFETY: `flag_waker` made the data from a reference that lives forever.
    let flag = unsafe { &*data.cast::<AtomicBool>() };
    flag.store(true, Ordering::Release);
}
