use core::fmt;

use super::{Hook, Permit, RaceState};
use crate::observe::{Cause, EventKind, Refusal};

/// What is attached to a race whose attempt 0 is not a new one, as `Race::resumed` makes it.
#[derive(Clone)]
pub struct Resumed<H>(H);

impl<H> Resumed<H> {
    pub(crate) fn new(hooks: H) -> Self {
        Self(hooks)
    }
}

/// Hides the start of attempt 0. The hooks ignore the end of an attempt that they have not seen
/// start.
impl<H: Hook> Hook for Resumed<H> {
    const LISTS_RUNNING: bool = H::LISTS_RUNNING;

    fn permit(&mut self, state: &RaceState<'_>) -> Permit {
        self.0.permit(state)
    }

    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        self.0.charge(state)
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        self.0.refund(state);
    }

    fn started(&mut self, index: usize, cause: Cause) {
        if index > 0 {
            self.0.started(index, cause);
        }
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.0.span(index)
    }

    fn committed(&mut self, index: usize) {
        self.0.committed(index);
    }

    fn ended(&mut self, index: usize, kind: EventKind) {
        self.0.ended(index, kind);
    }

    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        self.0.retain(is_running);
    }

    fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        self.0.refused(index, cause, refusal);
    }
}

impl<H> fmt::Debug for Resumed<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "test-util", feature = "adaptive"))]
mod tests;
