use super::{Permit, RaceState};
use crate::observe::{Cause, EventKind, Refusal};

/// What is attached to a race: gates, budgets and observers. `()` is nothing; a pair is both.
///
/// The options of a race make hooks; this trait is not meant to be implemented elsewhere.
#[doc(hidden)]
pub trait Hook {
    /// Whether the hook keeps a list of the running attempts.
    const LISTS_RUNNING: bool = false;

    /// Asks the gates whether an attempt that is due may start. Not asked for the first attempt.
    #[inline]
    fn permit(&mut self, state: &RaceState<'_>) -> Permit {
        let _ = state;
        Permit::Start
    }

    /// Charges the budgets for an attempt that all gates permit.
    #[inline]
    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        let _ = state;
        true
    }

    /// Returns what `charge` took, because another budget refused.
    #[inline]
    fn refund(&mut self, state: &RaceState<'_>) {
        let _ = state;
    }

    /// An attempt started.
    #[inline]
    fn started(&mut self, index: usize, cause: Cause) {
        let _ = (index, cause);
    }

    /// Returns the span of a running attempt.
    #[cfg(feature = "tracing")]
    #[inline]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        let _ = index;
        None
    }

    /// A running attempt committed.
    #[inline]
    fn committed(&mut self, index: usize) {
        let _ = index;
    }

    /// A running attempt ended.
    #[inline]
    fn ended(&mut self, index: usize, kind: EventKind) {
        let _ = (index, kind);
    }

    /// After a panic, the attempts that are not running any more were cancelled.
    #[inline]
    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        let _ = is_running;
    }

    /// An attempt that was due did not start.
    #[inline]
    fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        let _ = (index, cause, refusal);
    }
}

impl Hook for () {}

/// `None` is nothing.
impl<A: Hook> Hook for Option<A> {
    const LISTS_RUNNING: bool = A::LISTS_RUNNING;

    fn permit(&mut self, state: &RaceState<'_>) -> Permit {
        self.as_mut().map_or(Permit::Start, |it| it.permit(state))
    }

    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        self.as_mut().is_none_or(|it| it.charge(state))
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        if let Some(it) = self {
            it.refund(state);
        }
    }

    fn started(&mut self, index: usize, cause: Cause) {
        if let Some(it) = self {
            it.started(index, cause);
        }
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.as_ref()?.span(index)
    }

    fn committed(&mut self, index: usize) {
        if let Some(it) = self {
            it.committed(index);
        }
    }

    fn ended(&mut self, index: usize, kind: EventKind) {
        if let Some(it) = self {
            it.ended(index, kind);
        }
    }

    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        if let Some(it) = self {
            it.retain(is_running);
        }
    }

    fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        if let Some(it) = self {
            it.refused(index, cause, refusal);
        }
    }
}

impl<A: Hook, B: Hook> Hook for (A, B) {
    const LISTS_RUNNING: bool = A::LISTS_RUNNING || B::LISTS_RUNNING;

    fn permit(&mut self, state: &RaceState<'_>) -> Permit {
        match self.0.permit(state) {
            Permit::Start => self.1.permit(state),
            refused => refused,
        }
    }

    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        if !self.0.charge(state) {
            return false;
        }
        let charged = self.1.charge(state);
        if !charged {
            self.0.refund(state);
        }
        charged
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        self.0.refund(state);
        self.1.refund(state);
    }

    fn started(&mut self, index: usize, cause: Cause) {
        self.0.started(index, cause);
        self.1.started(index, cause);
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.0.span(index).or_else(|| self.1.span(index))
    }

    fn committed(&mut self, index: usize) {
        self.0.committed(index);
        self.1.committed(index);
    }

    fn ended(&mut self, index: usize, kind: EventKind) {
        self.0.ended(index, kind);
        self.1.ended(index, kind);
    }

    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        self.0.retain(is_running);
        self.1.retain(is_running);
    }

    fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        self.0.refused(index, cause, refusal);
        self.1.refused(index, cause, refusal);
    }
}

#[cfg(feature = "alloc")]
impl<O: crate::observe::Observer, C: crate::observe::Clock> Hook
    for crate::observe::Observed<O, C>
{
    const LISTS_RUNNING: bool = true;

    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        self.retain(is_running);
    }

    fn started(&mut self, index: usize, cause: Cause) {
        self.started(index, cause);
    }

    #[cfg(feature = "tracing")]
    fn span(&self, index: usize) -> Option<tracing::Span> {
        self.span(index)
    }

    fn committed(&mut self, index: usize) {
        self.committed(index);
    }

    fn ended(&mut self, index: usize, kind: EventKind) {
        self.ended(index, kind);
    }

    fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        self.refused(index, cause, refusal);
    }
}
