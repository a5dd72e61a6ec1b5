use core::num::NonZeroU64;

/// Identifies one timer of one [`Wheel`](crate::Wheel).
///
/// A wheel never issues the same key twice. The key of a timer that has expired, or was cancelled
/// or rescheduled, is stale: every method returns `None` for it. A key of another wheel is
/// meaningless here and may match an unrelated timer.
///
/// 16 bytes, or 12 where a `u64` is aligned to four. `Option<Key>` has the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The number of the insertion, counted from 1. At most [`Key::SEQ_BITS`] bits.
    pub(crate) seq: NonZeroU64,
    /// The index of the value in the table. It is used again.
    pub(crate) index: u32,
}

impl Key {
    /// Lasts 36 years at one insertion per nanosecond.
    pub(crate) const SEQ_BITS: u32 = 60;
}
