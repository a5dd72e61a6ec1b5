use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race_core::{Moment, Timer};
use race_wheel::Key;

use crate::{driver::DRIVER, sync::now};

/// A [`Timer`] driven by one background thread per process. Works on any executor, or none.
///
/// Deadlines are rounded up to a microsecond; beyond that the resolution is the system's. Creating
/// a timer does nothing. The first timer of the process that has to wait starts the thread.
///
/// Wakers are woken on that thread, one after another. A waker that blocks delays all other timers.
/// A waker that panics affects no other timer.
///
/// A clone is a new timer on the same clock that waits for nothing. A client struct can hold one
/// timer and clone it for each race.
///
/// # Panics
///
/// [`poll_until`](Timer::poll_until) panics if the thread cannot be started. The next call tries again.
///
/// # Cancel safety
///
/// Dropping the timer removes its registration and its waker.
///
/// # Forking
///
/// The thread does not exist in the child of `fork()`. If the parent has started the thread before
/// it forks, a timer in the child is never woken, and if the fork happens while another thread
/// holds the internal lock, a timer in the child blocks forever when it is polled or dropped.
/// Timers in the child work only if the parent forks before its first timer has to wait. `fork()`
/// followed by `exec()`, as in `std::process::Command`, is not affected.
///
/// The timer does not detect a fork because the check costs more than the timer: reading the
/// process id is a system call, about 145 ns on the machine where arming a timer takes about 75 ns.
/// Besides, POSIX allows only async-signal-safe functions in the child of a process with several
/// threads.
///
/// # Examples
///
/// ```
/// use std::{future::poll_fn, pin::pin, time::Duration};
///
/// use race_thread::{ThreadTimer, race_core::Timer as _};
///
/// let mut timer = pin!(ThreadTimer::new());
/// let deadline = timer.now() + Duration::from_millis(5);
/// pollster::block_on(poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)));
/// assert!(timer.now() >= deadline);
/// ```
#[derive(Debug, Default)]
pub struct ThreadTimer {
    /// The deadline that is registered, and its key.
    armed: Option<(Moment, Key)>,
}

impl ThreadTimer {
    /// Creates a timer that waits for nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { armed: None }
    }
}

/// Creates a timer that waits for nothing. The deadline of the original is not copied.
impl Clone for ThreadTimer {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Timer for ThreadTimer {
    fn now(&self) -> Moment {
        now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        if deadline != Moment::NEVER && now() < deadline {
            let waker = cx.waker();
            let renewed = match self.armed {
                Some((armed, key)) if armed == deadline => DRIVER.update(key, waker).then_some(key),
                Some((_, key)) => DRIVER.reschedule(key, deadline, waker),
                None => None,
            };
            let key = renewed.unwrap_or_else(|| {
                self.as_mut().disarm();
                DRIVER.register(deadline, waker)
            });
            self.armed = Some((deadline, key));
            return Poll::Pending;
        }
        self.disarm();
        match deadline {
            Moment::NEVER => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    fn disarm(mut self: Pin<&mut Self>) {
        if let Some((_, key)) = self.armed.take() {
            DRIVER.cancel(key);
        }
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        Pin::new(self).disarm();
    }
}
