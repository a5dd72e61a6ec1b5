//! Gates and budgets: whether an attempt that is due may start.

use super::{
    Schedule,
    schedule::{elapsed, read},
    timeouts::Expiries,
};
use crate::{
    Hook, Policy, Timer,
    observe::Refusal,
    policy::{Permit, RaceState},
    source::Source,
};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Asks gates and budgets whether the attempt that is due may start.
    #[inline]
    pub(super) fn admit(&mut self, running: usize) -> bool {
        let index = self.stagger.starts();
        if index == 0 {
            return true;
        }
        let (timer, began) = (&self.timer, self.began);
        let elapsed = || elapsed(timer, began);
        let cause = self.stagger.cause(running);
        let state = RaceState {
            index,
            cause,
            running,
            failed: self.stagger.failures(),
            needed: self.needed,
            elapsed: &elapsed,
        };
        let permit = self.hooks.permit(&state);
        if permit == Permit::Start && self.hooks.charge(&state) {
            return true;
        }
        let refusal = match permit {
            Permit::Start => Refusal::Budget,
            Permit::NotNow | Permit::Stop => Refusal::Gate,
        };
        let (timer, began) = (&self.timer, &mut self.began);
        match permit {
            Permit::NotNow => self.stagger.deferred(|| read(timer, began)),
            Permit::Start | Permit::Stop => self.stagger.refused(),
        }
        self.refused = Some(refusal);
        self.hooks.refused(index, cause, refusal);
        false
    }
}
