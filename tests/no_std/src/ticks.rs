use core::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll},
};

use race_core::{Moment, Timer};

/// A counter as the clock: one iteration of the loop is one nanosecond. The loop polls the timer in
/// each iteration.
pub(crate) struct Ticks<'a>(pub(crate) &'a Cell<u64>);

impl Timer for Ticks<'_> {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.0.get())
    }

    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        if self.now() >= deadline {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
