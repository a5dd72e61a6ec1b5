//! What a race does while as many attempts are running as allowed.

use core::{pin::Pin, task::Context};

use super::{Schedule, timeouts::Expiries};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, observe::Refusal, source::Source};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Whether as many attempts are running as allowed.
    #[inline]
    pub(super) fn is_full<A>(&self, set: &A) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        set.is_full() || self.stagger.is_full(set.len())
    }

    /// As many attempts are running as allowed.
    #[inline(never)]
    pub(super) fn full<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let running = set.len();
        // An observer is told only if there may be another candidate.
        if self.supply.may_start() && self.size_hint(0).1 != Some(0) {
            let cause = self.stagger.cause(running);
            let refusal = Refusal::MaxInFlight;
            self.hooks.refused(self.stagger.starts(), cause, refusal);
            if running == 0 {
                self.refused = Some(refusal); // `max_in_flight(0)`
            }
        }
        self.hold();
        if self.draws_ahead() && running > 0 {
            let _drawn = self.supply.poll_candidate(set, cx);
        }
    }
}
