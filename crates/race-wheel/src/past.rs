use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

/// The timers that were inserted for times that have passed: their indices, by time and sequence
/// number.
pub(crate) type Past = BTreeMap<(u64, NonZeroU64), u32>;
