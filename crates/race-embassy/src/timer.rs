use core::{
    pin::Pin,
    task::{Context, Poll},
};

use embassy_time_driver::{TICK_HZ, now, schedule_wake};
use race_core::{Moment, Timer};

use crate::ticks::Ticks;

/// A [`Timer`] on embassy's clock, which the time driver of the binary provides.
///
/// A [`Moment`] counts the nanoseconds since the driver started. `now` is rounded down, and a
/// deadline is rounded up to a whole tick, so the resolution is a tick and the timer is never
/// early. It works at every tick rate. A deadline that the driver's counter does not reach never
/// passes.
///
/// The timer holds nothing: creating, copying and dropping it costs nothing, and all of them can
/// wait at once. A pending poll hands the waker to the driver. With the driver's default queue this
/// must be the waker of a task of embassy's executor; see the [crate documentation](crate#timer-queues).
///
/// # Panics
///
/// [`poll_until`](Timer::poll_until) panics where a pending `embassy_time::Timer` does: on the
/// default queue, with a waker that is not the task's own.
///
/// # Cancel safety
///
/// Dropping the timer loses nothing. The driver keeps the waker until the deadline, so the task may
/// be woken once without need.
///
/// # Examples
///
/// ```
/// use core::{future::poll_fn, pin::pin, time::Duration};
///
/// use race_embassy::{EmbassyTimer, race_core::Timer as _};
///
/// async fn sleep(duration: Duration) {
///     let mut timer = pin!(EmbassyTimer::new());
///     let deadline = timer.now() + duration;
///     poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)).await;
/// }
/// # let mut sleep = pin!(sleep(Duration::from_millis(5)));
/// # let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
/// # for _ in 0..5 {
/// #     assert!(sleep.as_mut().poll(&mut cx).is_pending());
/// #     embassy_time::MockDriver::get().advance(embassy_time::Duration::from_millis(1));
/// # }
/// # assert!(sleep.as_mut().poll(&mut cx).is_ready());
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EmbassyTimer;

type DriverTicks = Ticks<TICK_HZ>;

impl EmbassyTimer {
    /// Creates a timer that waits for nothing.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

// Inlined, so that a binary without a time driver links if it polls no `EmbassyTimer`.
impl Timer for EmbassyTimer {
    #[inline]
    fn now(&self) -> Moment {
        DriverTicks::moment(now())
    }

    #[inline]
    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        let Some(tick) = DriverTicks::until(deadline) else {
            return Poll::Pending;
        };
        if now() >= tick {
            return Poll::Ready(());
        }
        // If the tick passes in between, the driver wakes at once.
        schedule_wake(tick, cx.waker());
        Poll::Pending
    }
}
