//! Attempts that make progress put off the next start, or suspend it.

use super::{Stagger, due::NEVER};
use crate::{Moment, Policy};

impl<P: Policy> Stagger<P> {
    /// Reports that an attempt made progress: the delay before the next start counts anew from
    /// `now`.
    ///
    /// It never makes a start earlier. Starts that a failure causes, and those without a delay, are
    /// not put off; for those without a delay, `now` is not called.
    #[cold]
    pub fn progressed(&mut self, now: impl FnOnce() -> Moment) {
        if self.starts == 0 || matches!(self.delay, 0 | NEVER) || self.is_over() {
            return;
        }
        let now = now();
        self.clock(|| now);
        if self.by_time != Moment::NEVER {
            self.by_time = self.by_time.max(now.plus_nanos(self.delay));
        }
    }

    /// Suspends starts by time, or resumes them. A start whose time has passed meanwhile is due
    /// when they are resumed; it is not late.
    ///
    /// Starts that a failure causes, or that nothing is running, are not suspended. While
    /// [`next`](Self::next) finds nothing else, it returns
    /// [`Next::OnFailure`](crate::stagger::Next::OnFailure).
    pub fn set_suspended(&mut self, suspended: bool) {
        if self.suspended && !suspended {
            self.excuse.hold();
        }
        self.suspended = suspended;
    }
}

#[cfg(test)]
mod tests;
