use alloc::rc::Rc;
use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use race_core::{Moment, Timer};

use crate::alarm::{self, Alarm};

/// A [`Timer`] over `setTimeout` and `performance.now()`, in browsers, web workers and Node.
///
/// Delays are rounded up to a millisecond. The timer is never early: if the callback of a timeout
/// comes before the clock has reached the deadline, the timeout is set again. Delays of more than
/// 2^31 - 1 ms (about 25 days), the longest that `setTimeout` takes, are waited for in parts.
///
/// Creating a timer does nothing. The first poll that has to wait allocates a callback, which later
/// deadlines reuse. At most one timeout is set per timer. A timer is not `Send`: it belongs to the
/// page or worker that polls it.
///
/// A clone is a new timer on the same clock that waits for nothing. A client struct can hold one
/// timer and clone it for each race.
///
/// # Lateness
///
/// Timeouts of a page may be late for these reasons:
///
/// - Browsers delay a timeout that was set from another timeout, five levels deep or more, to at
///   least 4 ms.
/// - Browsers delay the timeouts of hidden pages to once a second or once a minute. Those of
///   dedicated workers are delayed less or not at all.
/// - A timeout that expires while the page is frozen or the machine is asleep comes after that. The
///   clock of some systems stands still while the machine is asleep.
///
/// A late timer causes no burst: by default the race starts one attempt and then waits for the
/// delay again. [`CatchUp`](race_core::CatchUp) chooses otherwise.
///
/// # Clock
///
/// The epoch is the start of the page, the worker or the process. Browsers reduce the resolution of
/// the clock, to 100 ms in some. Do not compare moments of different workers.
///
/// # Panics
///
/// On targets other than `wasm32-unknown-unknown`, [`now`](Timer::now) and
/// [`poll_until`](Timer::poll_until) panic. In a global scope without `performance` or
/// `setTimeout`, such as that of a worklet, they throw a JavaScript error.
///
/// # Cancel safety
///
/// Dropping the timer clears its timeout and drops its waker.
///
/// # Examples
///
/// ```no_run
/// use std::{future::poll_fn, pin::pin, time::Duration};
///
/// use race_web::{WebTimer, race_core::Timer as _};
///
/// # async fn run() {
/// let mut timer = pin!(WebTimer::new());
/// let deadline = timer.now() + Duration::from_millis(5);
/// poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)).await;
/// assert!(timer.now() >= deadline);
/// # }
/// ```
#[derive(Default)]
pub struct WebTimer {
    /// Made by the first wait.
    alarm: Option<Rc<Alarm>>,
}

impl WebTimer {
    /// Creates a timer that waits for nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { alarm: None }
    }
}

/// Creates a timer that waits for nothing. The deadline of the original is not copied.
impl Clone for WebTimer {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Timer for WebTimer {
    fn now(&self) -> Moment {
        alarm::now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        if deadline != Moment::NEVER {
            let now = alarm::now();
            if now < deadline {
                let alarm = self.alarm.get_or_insert_with(Alarm::new);
                alarm.set(now, deadline, cx.waker());
                return Poll::Pending;
            }
        }
        self.disarm();
        match deadline {
            Moment::NEVER => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    fn disarm(self: Pin<&mut Self>) {
        if let Some(alarm) = &self.alarm {
            alarm.disarm();
        }
    }
}

impl Drop for WebTimer {
    fn drop(&mut self) {
        Pin::new(self).disarm();
    }
}

impl fmt::Debug for WebTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deadline = self.alarm.as_ref().map(|alarm| alarm.deadline());
        let deadline = deadline.filter(|deadline| *deadline != Moment::NEVER);
        f.debug_struct("WebTimer")
            .field("deadline", &deadline)
            .finish_non_exhaustive()
    }
}
