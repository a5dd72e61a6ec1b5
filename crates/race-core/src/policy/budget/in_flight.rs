use core::fmt;

use crate::sync::{AtomicUsize, Ordering};

/// The attempts that are running in all races of a budget.
pub(super) struct InFlight {
    percent: usize,
    running: AtomicUsize,
    /// Those of them that were charged.
    charged: AtomicUsize,
}

impl InFlight {
    pub(super) fn new(percent: u8) -> Self {
        Self {
            percent: usize::from(percent.min(100)),
            running: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
        }
    }

    /// Counts one more charged attempt, unless it would be too many.
    pub(super) fn charge(&self, reserve: usize) -> bool {
        let most = self.most(reserve);
        // The counts guard no other memory, so no ordering is needed.
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let more = |charged| (charged < most).then_some(charged + 1);
        self.charged.fetch_update(set, fetch, more).is_ok()
    }

    /// A charged attempt has ended, or has not started.
    pub(super) fn release(&self) {
        self.charged.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn started(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns how many charged attempts could start now.
    pub(super) fn room(&self, reserve: usize) -> usize {
        let charged = self.charged.load(Ordering::Relaxed);
        self.most(reserve).saturating_sub(charged)
    }

    /// Returns how many charged attempts can run together with the present others.
    fn most(&self, reserve: usize) -> usize {
        let running = self.running.load(Ordering::Relaxed);
        let share = running.saturating_mul(self.percent) / 100;
        share.max(reserve)
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("percent", &self.percent)
            .field("running", &self.running.load(Ordering::Relaxed))
            .field("charged", &self.charged.load(Ordering::Relaxed))
            .finish()
    }
}
