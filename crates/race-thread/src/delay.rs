use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use race_core::{Moment, Timer as _};

use crate::{ThreadTimer, clock, sync::now};

/// Waits for `duration`, counted from this call.
///
/// A duration of more than about 560 years waits forever. Like [`ThreadTimer`], which it is built
/// on, it works on any executor.
///
/// # Forking
///
/// The future never completes in the child of `fork()`, or blocks when it is polled or dropped, if
/// the parent has used a timer before. See [`ThreadTimer`](ThreadTimer#forking).
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let began = Instant::now();
/// pollster::block_on(race_thread::sleep(Duration::from_millis(5)));
/// assert!(began.elapsed() >= Duration::from_millis(5));
/// ```
#[must_use = "futures do nothing unless polled"]
pub fn sleep(duration: Duration) -> Delay {
    Delay::until(now() + duration)
}

/// Waits until `deadline`. Completes at the first poll if it has passed.
///
/// See [`sleep`] for the behavior after `fork()`.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_millis(5);
/// pollster::block_on(race_thread::sleep_until(deadline));
/// assert!(Instant::now() >= deadline);
/// ```
#[must_use = "futures do nothing unless polled"]
pub fn sleep_until(deadline: Instant) -> Delay {
    Delay::until(clock::moment(deadline))
}

/// The future returned by [`sleep`] and [`sleep_until`].
///
/// Once it has completed, every further poll returns `Ready`.
///
/// # Cancel safety
///
/// Dropping it removes the deadline and the waker.
///
/// # Panics
///
/// Polling it panics if the timer thread cannot be started.
#[must_use = "futures do nothing unless polled"]
pub struct Delay {
    timer: ThreadTimer,
    deadline: Moment,
}

impl Delay {
    fn until(deadline: Moment) -> Self {
        let timer = ThreadTimer::new();
        Self { timer, deadline }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        Pin::new(&mut self.timer).poll_until(deadline, cx)
    }
}

impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delay")
            .field("left", &self.deadline.since(now()))
            .finish_non_exhaustive()
    }
}
