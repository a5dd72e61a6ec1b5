use core::fmt;

use super::signals::Signals;
use crate::sync::Arc;

/// Keeps a race from starting attempts by time until it is dropped. Made by
/// [`AttemptHandle::hold`](super::AttemptHandle::hold).
#[must_use = "the next start is held until this is dropped"]
pub struct Hold {
    signals: Arc<Signals>,
}

impl Hold {
    pub(super) fn new(signals: Arc<Signals>) -> Self {
        signals.hold();
        Self { signals }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.signals.release();
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("index", &self.signals.index)
            .finish_non_exhaustive()
    }
}
