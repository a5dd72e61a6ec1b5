//! Without an allocator, attempts have no handles: see `signals`.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, timeouts::Expiries};
use crate::source::Source;

impl<S: Source, T, P, H, Q: Expiries> Schedule<S, T, P, H, Q> {
    #[inline]
    pub(super) fn apply_signals<A>(&mut self, _: Pin<&mut A>) -> bool {
        false
    }

    #[inline]
    pub(super) fn discard_if_lost(&mut self, _: usize) -> bool {
        false
    }

    #[inline]
    pub(crate) fn claim(&mut self, _: usize) -> bool {
        true
    }

    #[inline]
    pub(crate) fn end_handle(&mut self, _: usize) -> bool {
        false
    }

    #[inline]
    pub(super) fn gives_handles(&mut self) -> bool {
        false
    }

    #[inline]
    pub(super) fn begin_handle(&mut self, _: usize) {}

    #[inline]
    pub(crate) fn let_losers_run_on(&mut self) {}

    #[inline]
    pub(super) fn deliver_losers(&mut self) {}

    pub(super) fn retain_handles(&mut self, _: impl FnMut(usize) -> bool) {}

    #[inline]
    pub(super) fn begin_signals(&mut self) {}

    #[inline]
    pub(super) fn end_signals<O>(&mut self, _: &Poll<O>, _: &mut Context<'_>) {}
}
