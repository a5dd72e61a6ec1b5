//! The end of an attempt, for others to wait for.

use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

/// Tells whether an attempt has ended, with or without an answer. From
/// [`Beginning::end`](crate::Beginning::end). Clones are the same.
#[derive(Clone)]
pub struct AttemptEnd(Arc<End>);

struct End {
    has_ended: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

/// Ends its attempt when it is dropped.
pub(crate) struct Running(AttemptEnd);

impl AttemptEnd {
    /// Returns an end that comes when `Running` is dropped.
    pub(crate) fn new() -> (Self, Running) {
        let end = Self(Arc::new(End {
            has_ended: AtomicBool::new(false),
            wakers: Mutex::default(),
        }));
        (end.clone(), Running(end))
    }

    /// Returns whether the attempt has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Acquire)
    }

    /// Wakes `waker` when the attempt ends. Ask [`has_ended`](Self::has_ended) after this call.
    pub fn register(&self, waker: &Waker) {
        let mut wakers = self.wakers();
        if !wakers.iter().any(|earlier| earlier.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let end = &self.0;
        end.0.has_ended.store(true, Ordering::Release);
        let wakers = mem::take(&mut *end.wakers());
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for AttemptEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptEnd")
            .field("has_ended", &self.has_ended())
            .finish()
    }
}
