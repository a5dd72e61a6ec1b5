use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race_core::{Moment, Timer};
use race_wheel::Key;

use crate::{driver::DRIVER, sync::now};

/// A [`Timer`] on a thread of its own, for any executor and none.
///
/// Its resolution is the system's; deadlines are rounded up to the microsecond. Making one costs nothing. The
/// first of the process that must wait starts the thread, which wakes for all.
///
/// Wakers are woken on that thread, one after the other. As with any waker they must not block: one that
/// does keeps all other timers waiting. One that panics harms nobody else.
///
/// # Panics
///
/// Polling it panics if that thread cannot be started. The next to wait tries again.
#[derive(Debug, Default)]
pub struct ThreadTimer {
    armed: Option<(Moment, Key)>,
}

impl ThreadTimer {
    /// A timer that waits for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
