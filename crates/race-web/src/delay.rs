use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use race_core::{Moment, Timer as _};

use crate::{WebTimer, alarm::now};

/// Waits for `duration`, counted from this call.
///
/// Rounded up to a millisecond, and never early; see [`WebTimer`] for reasons to be late. A
/// duration of more than about 580 years waits forever.
///
/// # Panics
///
/// On targets other than `wasm32-unknown-unknown`.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// # async fn run() {
/// race_web::sleep(Duration::from_millis(5)).await;
/// # }
/// ```
#[must_use = "futures do nothing unless polled"]
pub fn sleep(duration: Duration) -> Delay {
    let timer = WebTimer::new();
    let deadline = now() + duration;
    Delay { timer, deadline }
}

/// The future returned by [`sleep`].
///
/// Once it has completed, every further poll returns `Ready`.
///
/// # Cancel safety
///
/// Dropping it clears the timeout and drops the waker.
#[must_use = "futures do nothing unless polled"]
pub struct Delay {
    timer: WebTimer,
    deadline: Moment,
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
