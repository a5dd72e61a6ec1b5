use std::{
    fmt,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    time::Instant,
};

use race_core::{Moment, Timer};

/// A [`Timer`] on async-io's reactor. Works on any executor.
///
/// The resolution is the system's. Creating a timer does nothing. The first poll that has to wait
/// creates an `async_io::Timer`, which later deadlines reset.
///
/// A clone is a new timer on the same clock that waits for nothing. A client struct can hold one
/// timer and clone it for each race.
///
/// # Cancel safety
///
/// Dropping the timer removes its deadline. The reactor drops the waker the next time it runs.
///
/// # Examples
///
/// ```
/// use std::{future::poll_fn, pin::pin, time::Duration};
///
/// use race_async_io::{AsyncIoTimer, race_core::Timer as _};
///
/// let mut timer = pin!(AsyncIoTimer::new());
/// let deadline = timer.now() + Duration::from_millis(5);
/// async_io::block_on(poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)));
/// assert!(timer.now() >= deadline);
/// ```
#[derive(Default)]
pub struct AsyncIoTimer {
    alarm: Option<async_io::Timer>,
    /// The deadline of the alarm.
    deadline: Option<Moment>,
    /// The latest deadline for which the alarm was ready.
    passed: Moment,
}

impl AsyncIoTimer {
    /// Creates a timer that waits for nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            alarm: None,
            deadline: None,
            passed: Moment::ZERO,
        }
    }
}

/// Creates a timer that waits for nothing. The deadline of the original is not copied.
impl Clone for AsyncIoTimer {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Timer for AsyncIoTimer {
    fn now(&self) -> Moment {
        Moment::ZERO + Instant::now().saturating_duration_since(epoch())
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        // async-io's timer is ready once, but `Timer` requires every later poll to be ready.
        if deadline <= self.passed {
            return Poll::Ready(());
        }
        // A deadline beyond the platform's range never passes.
        let instant = epoch().checked_add(deadline.since(Moment::ZERO));
        let Some(instant) = instant.filter(|_| deadline != Moment::NEVER) else {
            self.disarm();
            return Poll::Pending;
        };
        let this = &mut *self;
        let alarm = match &mut this.alarm {
            Some(alarm) => {
                if this.deadline != Some(deadline) {
                    alarm.set_at(instant);
                }
                alarm
            }
            none => none.insert(async_io::Timer::at(instant)),
        };
        this.deadline = Some(deadline);
        let polled = Pin::new(alarm).poll(cx).map(drop);
        if polled.is_ready() {
            this.passed = deadline;
        }
        polled
    }

    fn disarm(mut self: Pin<&mut Self>) {
        self.alarm = None;
        self.deadline = None;
    }
}

impl fmt::Debug for AsyncIoTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncIoTimer")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// The epoch of this process, at its first use.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

#[cfg(test)]
mod tests;
