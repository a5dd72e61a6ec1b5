use core::{
    ptr,
    task::{RawWaker, RawWakerVTable, Waker},
};

use crate::sync::{AtomicPtr, Ordering};

/// The parent's waker in its parts, or nothing. It has one owner at a time; the module
/// documentation says which. Any thread may check whether it is empty, or compare it.
pub(super) struct Parent {
    data: AtomicPtr<()>,
    /// Null if there is no waker.
    vtable: AtomicPtr<RawWakerVTable>,
}

/// What is stored, compared with a waker.
pub(super) enum Stored {
    Nothing,
    /// A waker with the same parts, which so wakes the same task, as with `will_wake`.
    Same,
    Other,
}

impl Parent {
    pub(super) fn empty() -> Self {
        Self {
            data: AtomicPtr::new(ptr::null_mut()),
            vtable: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns whether there is no waker. If a thread took it, its earlier writes are visible.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.vtable.load(Ordering::Acquire).is_null()
    }

    /// Compares the stored waker with another one. If a thread took it, its earlier writes are
    /// visible.
    #[inline]
    pub(super) fn compare(&self, waker: &Waker) -> Stored {
        let vtable = self.vtable.load(Ordering::Acquire);
        if vtable.cast_const() == ptr::from_ref(waker.vtable())
            && self.data.load(Ordering::Relaxed) == waker.data().cast_mut()
        {
            Stored::Same
        } else if vtable.is_null() {
            Stored::Nothing
        } else {
            Stored::Other
        }
    }

    /// Returns whether the stored waker has the same parts, and so wakes the same task, as with
    /// `will_wake`. Another thread may take it at the same time.
    #[inline]
    pub(super) fn is(&self, waker: &Waker) -> bool {
        let vtable = ptr::from_ref(waker.vtable()).cast_mut();
        self.data.load(Ordering::Relaxed) == waker.data().cast_mut()
            && self.vtable.load(Ordering::Relaxed) == vtable
    }

    /// Stores a waker.
    ///
    /// # Safety
    ///
    /// The caller owns the parent, which is empty.
    #[inline]
    pub(super) unsafe fn store(&self, waker: Waker) {
        let vtable = ptr::from_ref(waker.vtable()).cast_mut();
        // Relaxed: the next owner synchronizes through `top`.
        self.data.store(waker.data().cast_mut(), Ordering::Relaxed);
        self.vtable.store(vtable, Ordering::Relaxed);
        core::mem::forget(waker); // it is in its parts
    }

    /// Takes the waker.
    ///
    /// # Safety
    ///
    /// The caller owns the parent.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<Waker> {
        let data = self.data.load(Ordering::Relaxed);
        let vtable = self.vtable.load(Ordering::Relaxed);
        // Release: the poller that finds it empty may store the next waker.
        self.vtable.store(ptr::null_mut(), Ordering::Release);
        // SAFETY: the parts are null, or those of a waker that was stored and not taken since.
        let waker = unsafe { vtable.as_ref() }.map(|vtable| RawWaker::new(data, vtable));
        // SAFETY: as above.
        waker.map(|waker| unsafe { Waker::from_raw(waker) })
    }
}
