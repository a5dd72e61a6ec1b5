use core::num::NonZeroU64;

use crate::Key;

/// The entry of a timer in a bucket: its time and its key.
///
/// From the top: the low 36 bits of the time, the sequence number (60 bits), the index (32 bits).
/// So the items of one page sort by time, then by insertion, and neither moving nor sorting reads
/// the values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item(u128);

impl Item {
    /// The bits of a time that an item holds. Times that share the other bits share a page.
    pub(crate) const TIME_BITS: u32 = 36;
    pub(crate) const TIME_MASK: u64 = (1 << Self::TIME_BITS) - 1;

    #[inline]
    pub(crate) fn new(time: u64, key: Key) -> Self {
        debug_assert!(key.seq.get() >> Key::SEQ_BITS == 0, "checked by the table");
        let high = u128::from(time & Self::TIME_MASK) << (Key::SEQ_BITS + u32::BITS);
        Self(high | u128::from(key.seq.get()) << u32::BITS | u128::from(key.index))
    }

    /// Its time, if `page` is any time of the same page.
    #[inline]
    pub(crate) fn time(self, page: u64) -> u64 {
        page & !Self::TIME_MASK | (self.0 >> (Key::SEQ_BITS + u32::BITS)) as u64
    }

    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    /// The sequence number. It is never zero.
    #[inline]
    pub(crate) fn seq(self) -> u64 {
        (self.0 >> u32::BITS) as u64 & ((1 << Key::SEQ_BITS) - 1)
    }

    #[inline]
    pub(crate) fn key(self) -> Key {
        Key {
            seq: NonZeroU64::new(self.seq()).expect("keys have no zero"),
            index: self.index(),
        }
    }
}
