use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use race_core::{Moment, Timer as _};

use crate::{ThreadTimer, clock, sync::now};

/// Waits for so long, from this call on. Beyond some 560 years it is for ever.
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

/// Waits until this instant, if it is not over. As [`sleep`] otherwise.
#[must_use = "futures do nothing unless polled"]
pub fn sleep_until(deadline: Instant) -> Delay {
    Delay::until(clock::moment(deadline))
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// # Cancel safety
///
/// Dropping it forgets the deadline. Once it was ready, it is whenever it is polled.
///
/// # Panics
///
/// Polling it panics if the thread of the timers cannot be started.
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
