use std::{
    fmt,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    time::Instant,
};

use race_core::{Moment, Timer};

/// A [`Timer`] on async-io's reactor, for any executor.
///
/// Its resolution is the system's. Making one costs nothing; async-io's timer is made when something
/// must really wait, and reset from then on.
#[derive(Default)]
pub struct AsyncIoTimer {
    alarm: Option<async_io::Timer>,
    /// What the alarm is set for, or has rung for.
    deadline: Option<Moment>,
    /// The latest deadline that is known to have passed.
    passed: Moment,
}

impl AsyncIoTimer {
    /// A timer that waits for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Timer for AsyncIoTimer {
    fn now(&self) -> Moment {
        Moment::ZERO + Instant::now().saturating_duration_since(epoch())
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        // async-io's timer is ready once; this one for as long as it is asked.
        if deadline <= self.passed {
            return Poll::Ready(());
        }
        // Beyond the platform's range nothing needs to ring.
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
