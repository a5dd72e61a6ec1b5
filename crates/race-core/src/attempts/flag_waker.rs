use core::{
    sync::atomic::{AtomicBool, Ordering},
    task::{RawWaker, RawWakerVTable, Waker},
};

/// Returns a waker that sets a flag. It needs no allocator.
pub(crate) fn flag_waker(flag: &'static AtomicBool) -> Waker {
    // SAFETY: the data is a reference to a flag that lives forever and may be shared by threads,
    // so waking and cloning work on any thread at any time, and dropping has nothing to do.
    unsafe { Waker::new(data(flag), &VTABLE) }
}

const VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_| {});

fn data(flag: &'static AtomicBool) -> *const () {
    core::ptr::from_ref(flag).cast()
}

fn wake(data: *const ()) {
    // SAFETY: `data` made this pointer from a reference that lives forever, and only `flag_waker`
    // pairs it with this table.
    let flag = unsafe { &*data.cast::<AtomicBool>() };
    flag.store(true, Ordering::Release);
}
