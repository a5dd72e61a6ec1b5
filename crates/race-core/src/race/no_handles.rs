//! Without an allocator, attempts have no handles: see `heed`.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, timeouts::Expiries};
use crate::source::Source;

impl<S: Source, T, P, H, Q: Expiries> Schedule<S, T, P, H, Q> {
    #[inline]
    pub(super) fn heed<A>(&mut self, _: Pin<&mut A>) -> bool {
        false
    }

    #[inline]
    pub(super) fn has_lost(&mut self, _: usize) -> bool {
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
    pub(super) fn begin_handle<A>(&mut self, _: usize, _: &A) {}

    #[inline]
    pub(super) fn begin_heeding(&mut self) {}

    #[inline]
    pub(super) fn end_heeding<O>(&mut self, _: &Poll<O>, _: &mut Context<'_>) {}
}
