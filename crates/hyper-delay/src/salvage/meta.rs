use super::{
    faults::{Fault, Faults},
    stopped::Stopped,
};
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
    pub(super) dedupe_window: Option<Vec<u8>>,
}

impl Meta {
    pub(super) fn read(store: &Stopped, faults: &mut Faults) -> Self {
        let mut meta = Self::default();
        let mut rows = store.scan(Space::Meta, faults);
        while let Some(row) = rows.next(faults) {
            let mut number = |name| {
                let number = record::decode(&row.value).ok();
                if number.is_none() {
                    let what = format!("{name} cannot be decoded; no server starts with it");
                    faults.add(Fault::new(store.folder(Space::Meta), what).of(Space::Meta));
                }
                number
            };
            match row.key.as_slice() {
                key::NUMBERS => meta.numbers = number("the end of the sequence numbers"),
                key::LOW_WATER => meta.low_water = number("the low-water mark").unwrap_or_default(),
                key::DEDUPE_WINDOW => meta.dedupe_window = Some(row.value),
                _ => {}
            }
        }
        meta
    }
}
