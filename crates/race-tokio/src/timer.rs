use std::{
    fmt,
    pin::{Pin, pin},
    sync::OnceLock,
    task::{Context, Poll},
    time::Duration,
};

use race_core::{Moment, Timer};
use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// A [`Timer`] on tokio's clock, which may be paused.
///
/// The resolution is tokio's, 1 ms. Creating a timer does nothing. The first poll that has to wait
/// allocates a tokio `Sleep`, which later deadlines reset. The `Sleep` is polled outside the task's
/// cooperative budget, so attempts that exhaust the budget do not delay the timer.
///
/// A clone is a new timer on the same clock that waits for nothing. A client struct can hold one
/// timer and clone it for each race.
///
/// # Panics
///
/// [`poll_until`](Timer::poll_until) panics where tokio's `sleep` does: outside a runtime, or in a
/// runtime without `enable_time`. A timer that has waited stays with the runtime of its first wait,
/// until [`disarm`](Timer::disarm); a clone does not.
///
/// # Cancel safety
///
/// Dropping the timer removes its deadline and its waker.
///
/// # Examples
///
/// ```
/// use std::{future::poll_fn, pin::pin, time::Duration};
///
/// use race_tokio::{TokioTimer, race_core::Timer as _};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let mut timer = pin!(TokioTimer::new());
/// let deadline = timer.now() + Duration::from_secs(5);
/// poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)).await;
/// assert!(timer.now() >= deadline);
/// # }
/// ```
#[derive(Default)]
pub struct TokioTimer {
    /// The deadline of `sleep`.
    deadline: Option<Moment>,
    /// Allocated by the first wait. The inner option is `None` while the timer waits for nothing.
    sleep: Option<Pin<Box<Option<Sleep>>>>,
}

impl TokioTimer {
    /// Creates a timer that waits for nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            deadline: None,
            sleep: None,
        }
    }
}

/// Creates a timer that waits for nothing. The deadline of the original is not copied.
impl Clone for TokioTimer {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Moment {
        Moment::ZERO + Instant::now().saturating_duration_since(epoch())
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        if deadline == Moment::NEVER {
            return Poll::Pending;
        }
        let this = &mut *self;
        let mut slot = this.sleep.get_or_insert_with(|| Box::pin(None)).as_mut();
        if this.deadline != Some(deadline) {
            match slot.as_mut().as_pin_mut() {
                Some(sleep) => sleep.reset(instant(deadline)),
                None => slot.set(Some(sleep_until(instant(deadline)))),
            }
            this.deadline = Some(deadline);
        }
        let sleep = slot.as_pin_mut().expect("set above");
        pin!(unconstrained(sleep)).poll(cx)
    }

    fn disarm(mut self: Pin<&mut Self>) {
        self.deadline = None;
        if let Some(sleep) = &mut self.sleep {
            sleep.set(None);
        }
    }
}

impl fmt::Debug for TokioTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioTimer")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// The epoch of this process: its first use, less up to 17 years (as much as the platform can
/// express), so that it precedes a clock that was paused earlier.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        let now = Instant::now();
        (0..30)
            .rev()
            .find_map(|bits| now.checked_sub(Duration::from_secs(1 << bits)))
            .unwrap_or(now)
    })
}

fn instant(moment: Moment) -> Instant {
    let since = moment.since(Moment::ZERO);
    // Replaces a deadline beyond the platform's range.
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);
    epoch()
        .checked_add(since)
        .unwrap_or_else(|| Instant::now() + FAR)
}

#[cfg(test)]
mod tests;
