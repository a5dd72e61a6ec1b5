use core::time::Duration;

use race_core::Timer;

/// What the suite needs to know of the place where it runs.
pub trait Target {
    /// The timer of the races.
    type Timer: Timer + Clone + Unpin;
    /// The future of [`sleep`](Self::sleep).
    type Sleep: Future<Output = ()>;
    /// How exact the assertions about times are.
    const CLOCK: ClockKind;
    /// Which wakers the timer and the sleeps accept.
    const WAKERS: WakerKind;

    /// Creates a timer.
    fn timer(&self) -> Self::Timer;

    /// Creates a future that ends `duration` after this call, in whole milliseconds. The attempts
    /// await it.
    fn sleep(&self, duration: Duration) -> Self::Sleep;
}

/// How exact a clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// It moves while the task is idle, so each thing happens in the millisecond in which it is
    /// due: a virtual clock, a mock, QEMU with `-icount`.
    Exact,
    /// It also moves while the task runs. Things may be late, but never early.
    Real,
}

/// Which wakers may be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerKind {
    /// Any.
    Any,
    /// Only the waker of the task that awaits the suite, as with the default timer queue of
    /// embassy. Checks that use other wakers are left out.
    Task,
}
