use core::num::NonZeroU64;

use crate::Key;

/// What is kept of a timer in a bucket: when, which, where.
///
/// From the top: the low 36 bits of the tick, the sequence number (60 bits), the index (32 bits). So items
/// of one page sort by tick, then by insertion; and neither moving nor sorting them touches the values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item(u128);

impl Item {
    /// Ticks are kept to so many bits. Those that share the rest share a page.
    pub(crate) const TICK_BITS: u32 = 36;
    pub(crate) const TICK_MASK: u64 = (1 << Self::TICK_BITS) - 1;

    #[inline]
    pub(crate) fn new(tick: u64, key: Key) -> Self {
        debug_assert!(key.seq.get() >> Key::SEQ_BITS == 0, "the table sees to it");
        let high = u128::from(tick & Self::TICK_MASK) << (Key::SEQ_BITS + u32::BITS);
        Self(high | u128::from(key.seq.get()) << u32::BITS | u128::from(key.index))
    }

    /// Its tick, if it is on the same page as this one.
    #[inline]
    pub(crate) fn tick(self, page: u64) -> u64 {
        page & !Self::TICK_MASK | (self.0 >> (Key::SEQ_BITS + u32::BITS)) as u64
    }

    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    /// The sequence number, which is zero for none.
    #[inline]
    pub(crate) fn seq(self) -> u64 {
        (self.0 >> u32::BITS) as u64 & ((1 << Key::SEQ_BITS) - 1)
    }

    #[inline]
    pub(crate) fn key(self) -> Key {
        Key {
            seq: NonZeroU64::new(self.seq()).expect("made of a key"),
            index: self.index(),
        }
    }
}
