//! A task other than the one that runs the checks.

use core::{
    pin::Pin,
    sync::atomic::Ordering,
    task::{Context, Poll},
};

use flag::Flag;

use crate::{Moment, Timer};

pub(super) struct OtherTask {
    woken: Flag,
}

impl OtherTask {
    pub(super) fn new() -> Self {
        Self { woken: flag::new() }
    }

    /// Polls a timer with the waker of this task.
    pub(super) fn poll<T: Timer>(&self, timer: Pin<&mut T>, deadline: Moment) -> Poll<()> {
        let waker = flag::waker(&self.woken);
        timer.poll_until(deadline, &mut Context::from_waker(&waker))
    }

    pub(super) fn was_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }
}

/// A flag that each task has to itself.
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
mod flag {
    use alloc::{sync::Arc, task::Wake};
    use core::{
        ops::Deref,
        sync::atomic::{AtomicBool, Ordering},
        task::Waker,
    };

    #[derive(Clone)]
    pub(super) struct Flag(Arc<Woken>);

    struct Woken(AtomicBool);

    impl Deref for Flag {
        type Target = AtomicBool;

        fn deref(&self) -> &AtomicBool {
            &self.0.0
        }
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    pub(super) fn new() -> Flag {
        Flag(Arc::new(Woken(AtomicBool::new(false))))
    }

    pub(super) fn waker(flag: &Flag) -> Waker {
        flag.0.clone().into()
    }
}

/// A flag of a small pool. A stale waker of an earlier task sets another flag.
#[cfg(not(all(feature = "alloc", target_has_atomic = "ptr")))]
mod flag {
    use core::{
        sync::atomic::{AtomicBool, AtomicUsize, Ordering},
        task::Waker,
    };

    use crate::attempts::flag_waker;

    pub(super) type Flag = &'static AtomicBool;

    pub(super) fn new() -> Flag {
        static FLAGS: [AtomicBool; 8] = [const { AtomicBool::new(false) }; 8];
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Without a compare-and-swap, which not every target has: one check runs at a time.
        let next = NEXT.load(Ordering::Relaxed);
        NEXT.store((next + 1) % FLAGS.len(), Ordering::Relaxed);
        FLAGS[next].store(false, Ordering::Release);
        &FLAGS[next]
    }

    pub(super) fn waker(flag: &Flag) -> Waker {
        flag_waker(flag)
    }
}
