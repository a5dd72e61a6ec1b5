use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::signals::Signals;

/// The future of [`AttemptHandle::commit`](super::AttemptHandle::commit).
#[must_use = "futures do nothing unless polled"]
pub struct Commit<'a> {
    signals: &'a Signals,
}

impl<'a> Commit<'a> {
    pub(super) fn new(signals: &'a Signals) -> Self {
        Self { signals }
    }
}

impl Future for Commit<'_> {
    type Output = ();

    /// Registers no waker when pending: the race drops an attempt that has lost.
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.signals.commit() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl fmt::Debug for Commit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("index", &self.signals.index)
            .finish_non_exhaustive()
    }
}
