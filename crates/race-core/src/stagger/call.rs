use crate::{Moment, observe::Cause};

/// What makes the next attempt due beside its delay: a failure, or that no attempt is running.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// `ZERO` is at once, `NEVER` is not.
    at: Moment,
    cause: Cause,
    /// Being idle does not make the next start due: a gate deferred it, or the pause after a
    /// failure never ends.
    idle_waits: bool,
    /// The policy was asked for the pause since the latest start.
    knows_pause: bool,
    /// The pause after failures, in nanoseconds.
    pause: u64,
}

impl Default for Call {
    /// Nothing calls for the next attempt.
    #[inline]
    fn default() -> Self {
        Self {
            at: Moment::NEVER,
            cause: Cause::Failure,
            idle_waits: false,
            knows_pause: false,
            pause: 0,
        }
    }
}

impl Call {
    /// Clears the call when an attempt starts.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.at = Moment::NEVER;
        self.idle_waits = false;
        self.knows_pause = false;
    }

    #[inline]
    pub(super) fn at(&self) -> Moment {
        self.at
    }

    #[inline]
    pub(super) fn cause(&self) -> Cause {
        self.cause
    }

    /// Returns the pause after failures in nanoseconds, if it is known.
    #[inline]
    pub(super) fn pause(&self) -> Option<u64> {
        self.knows_pause.then_some(self.pause)
    }

    #[inline]
    pub(super) fn set_pause(&mut self, pause: u64) {
        (self.knows_pause, self.pause) = (true, pause);
    }

    /// Makes the next attempt due at this moment because of a failure.
    #[inline]
    pub(super) fn failed(&mut self, at: Moment) {
        self.at = self.at.min(at);
        self.cause = Cause::Failure;
        self.idle_waits = self.at == Moment::NEVER; // a pause that never ends
    }

    /// Makes the next attempt due at once because no attempt is running, unless it has to wait.
    #[inline]
    pub(super) fn idle(&mut self) {
        if !self.idle_waits && self.at == Moment::NEVER {
            self.at = Moment::ZERO;
            self.cause = Cause::Idle;
        }
    }

    /// Withdraws the call after a refusal, if `is_called` says that it made the start due.
    pub(super) fn start_is_refused(&mut self, is_called: bool) {
        if is_called {
            self.at = Moment::NEVER;
        }
        self.idle_waits = false;
    }

    pub(super) fn set_idle_waits(&mut self, idle_waits: bool) {
        self.idle_waits = idle_waits;
    }
}
