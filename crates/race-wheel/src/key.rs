use core::num::NonZeroU64;

/// Names one timer of one [`Wheel`](crate::Wheel), for ever.
///
/// No other timer of that wheel ever has the same key: besides a place, which is used again, it holds the
/// number of the insertion, which is not. The key of a timer that has expired, or was cancelled or
/// rescheduled, is stale, and answers `None`. A key of another wheel means nothing here, and may name some
/// timer.
///
/// 16 bytes, as is an `Option<Key>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which timer, counted from 1 over the life of the wheel. Fits into [`Key::SEQ_BITS`].
    pub(crate) seq: NonZeroU64,
    /// Where its value is in the table.
    pub(crate) index: u32,
}

impl Key {
    /// At an insertion each nanosecond, enough for 36 years.
    pub(crate) const SEQ_BITS: u32 = 60;
}
