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

/// A [`Timer`] on tokio's clock, paused or not.
///
/// Its resolution is tokio's, 1 ms. Making one costs nothing: tokio's `Sleep` is made, on the heap,
/// when something must really wait, and set anew in its place from then on. It is polled outside the task's
/// cooperative budget, so attempts that use the budget up do not starve it.
///
/// # Panics
///
/// Polling panics where tokio's own `sleep` does: outside a runtime, or on one without
/// `enable_time`. A timer that has waited stays with the runtime it first waited on.
#[derive(Default)]
pub struct TokioTimer {
    /// What `sleep` is set for.
    deadline: Option<Moment>,
    /// Made when something must wait for the first time, and none while nothing is waited for.
    sleep: Option<Pin<Box<Option<Sleep>>>>,
}

impl TokioTimer {
    /// A timer that waits for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
        let sleep = slot.as_pin_mut().expect("it has been set");
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

/// The epoch of this process: as long before its first use as the platform can express, up to 17
/// years, so that a clock paused or made before then still comes after it.
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
    // Beyond the platform's range is far enough.
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);
    epoch()
        .checked_add(since)
        .unwrap_or_else(|| Instant::now() + FAR)
}
