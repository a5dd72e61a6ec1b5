use super::{faults::Faults, stopped::Stopped};
use crate::{
    record::{self, key},
    store::Space,
};

/// The values in the space `meta`.
#[derive(Debug, Default)]
pub(super) struct Meta {
    /// The end of the reserved sequence numbers.
    pub(super) numbers: Option<u64>,
    /// The low-water mark: no task waits for an earlier time.
    pub(super) low_water: u64,
    /// The current generation of the deduplication window, encoded.
    pub(super) memory: Option<Vec<u8>>,
}

impl Meta {
    pub(super) fn read(store: &Stopped, faults: &mut Faults) -> Self {
        let mut meta = Self::default();
        let mut rows = store.scan(Space::Meta, faults);
        while let Some(row) = rows.next(faults) {
            let number = record::decode(&row.value);
            match row.key.as_slice() {
                key::NUMBERS => meta.numbers = number.ok(),
                key::LOW_WATER => meta.low_water = number.unwrap_or_default(),
                key::MEMORY => meta.memory = Some(row.value),
                _ => {}
            }
        }
        meta
    }
}
