use crate::retrying_index::RetryingIndex;

use super::{
    faults::{FileFault, FileFaults},
    stopped_store::StoppedStore,
};
use hyper_delay_store::{
    Space, StoreError,
    record::{self, AuditLine, BulkJob, ExpiryEntry, SetHash, key},
};

/// The values in the space `meta`.
#[derive(Debug, Default)]
pub(super) struct MetaSpace {
    /// The end of the reserved sequence numbers.
    pub(super) numbers: Option<u64>,
    /// The low-water mark: no task waits for an earlier time.
    pub(super) low_water: u64,
    /// The current generation of the deduplication window, encoded.
    pub(super) dedupe_window: Option<Vec<u8>>,
    /// Paused routes and the audit, as they are stored. Bulk operations do not continue after a
    /// repair.
    pub(super) operator_rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// The index of expiry: its keys with the routes and ids of the tasks.
    pub(super) expiring: SetHash,
    /// The index of retrying tasks: its rows, and the numbers of tasks, by route.
    pub(super) retrying: RetryingIndex,
}

impl MetaSpace {
    pub(super) fn read(store: &StoppedStore, faults: &mut FileFaults) -> Self {
        let mut meta = Self::default();
        let mut rows = store.scan(Space::Meta, faults);
        while let Some(row) = rows.next(faults) {
            let mut number = |name| {
                let number = record::decode(&row.value).ok();
                if number.is_none() {
                    let what = format!("{name} cannot be decoded; no server starts with it");
                    faults
                        .add(FileFault::new(store.folder(Space::Meta), what).in_space(Space::Meta));
                }
                number
            };
            match row.key.as_slice() {
                key::NUMBERS => meta.numbers = number("the end of the sequence numbers"),
                key::LOW_WATER => meta.low_water = number("the low-water mark").unwrap_or_default(),
                key::DEDUPE_WINDOW => meta.dedupe_window = Some(row.value),
                key => match meta.check(key, &row.value) {
                    Ok(true) => meta.operator_rows.push((row.key, row.value)),
                    Ok(false) => {}
                    Err(error) => {
                        let what = format!("the key {}: {}", key.escape_ascii(), error.reason());
                        faults.add(
                            FileFault::new(store.folder(Space::Meta), what).in_space(Space::Meta),
                        );
                    }
                },
            }
        }
        meta
    }

    /// Decodes a row of an index, of a paused route, of the audit or of a bulk operation.
    /// Returns whether a repair copies the row.
    fn check(&mut self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        if let Some(route) = key.strip_prefix(key::PAUSED) {
            key::text_of(route)?;
            return Ok(true);
        }
        if key.starts_with(key::AUDIT) {
            AuditLine::decode(value)?;
            return Ok(true);
        }
        if key.starts_with(key::EXPIRY) {
            // A repair makes the index anew.
            key::time_of(key)?;
            let entry: ExpiryEntry<'_> = record::decode(value)?;
            self.expiring.add(&(key, entry.route, entry.id));
        }
        // A repair makes the index anew.
        self.retrying.add(key, value)?;
        if let Some(number) = key.strip_prefix(key::JOBS) {
            key::number_of(number)?;
            record::decode::<BulkJob>(value)?;
        }
        Ok(false)
    }
}
