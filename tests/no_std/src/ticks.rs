use core::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll},
};

use race_core::{Moment, Timer};

/// A counter for a clock: one turn of the loop is one nanosecond. It wakes by being polled in every
/// turn.
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
