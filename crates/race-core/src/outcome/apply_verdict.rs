//! What the verdict on a failure does to the race. `Decision` ends the race after a fatal one.

use super::Verdict;
use crate::{
    Hook, Policy, Timer,
    race::{Expiries, Schedule},
    source::Source,
};

impl<S: Source, T: Timer, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Does what the verdict on the failure of attempt `index` asks for, while `running` others are
    /// running.
    #[inline]
    pub(super) fn apply_verdict(&mut self, verdict: Verdict, index: usize, running: usize) {
        match verdict {
            Verdict::Fatal => return,
            Verdict::NotBefore(delay) => self.not_before(delay),
            Verdict::NoMoreStarts => self.no_more_starts(),
            Verdict::Accept | Verdict::Retryable => {}
        }
        self.failed(index, running);
    }
}
