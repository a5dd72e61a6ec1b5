use core::{marker::PhantomData, mem::ManuallyDrop, ops::Deref, task::Waker};

/// A waker that is borrowed from its group, instead of owning a handle to it.
#[derive(Debug)]
pub struct BorrowedWaker<'a> {
    waker: ManuallyDrop<Waker>,
    group: PhantomData<&'a ()>,
}

impl BorrowedWaker<'_> {
    /// # Safety
    ///
    /// The data of the waker stays valid for the lifetime, although the waker owns no handle.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) unsafe fn new(waker: Waker) -> Self {
        Self {
            waker: ManuallyDrop::new(waker),
            group: PhantomData,
        }
    }

    /// Extends the lifetime.
    ///
    /// # Safety
    ///
    /// The group has a handle as long as the result is used.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) unsafe fn detach<'b>(self) -> BorrowedWaker<'b> {
        BorrowedWaker {
            waker: self.waker,
            group: PhantomData,
        }
    }
}

impl Deref for BorrowedWaker<'_> {
    type Target = Waker;

    #[inline]
    fn deref(&self) -> &Waker {
        &self.waker
    }
}
