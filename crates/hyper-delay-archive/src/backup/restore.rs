use std::{io::Read, path::Path};

use super::{
    BackupError,
    check::{BackupSummary, ConsistencyCheck, check, inconsistent},
    new_store::NewStore,
    reader::BackupReader,
    running_jobs,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_store::{Batch, Durability, Space, Store as _, StoreError};

/// Bytes of a batch.
const BATCH: usize = 1 << 20;

/// Writes a backup as the store of `directory`, which must be empty, not exist, or contain only an
/// interrupted restore. The store is moved to its place only when the whole backup was read and is
/// consistent. Before that and after an error, no server starts in the directory.
///
/// `first` is the same backup: it is checked before a row is written.
///
/// # Errors
///
/// If the backup cannot be read, is damaged, or comes from a newer server; if the directory is not
/// empty or cannot be written.
pub fn restore(
    input: impl Read,
    first: Option<&mut dyn Read>,
    name: &str,
    directory: &Path,
) -> Result<BackupSummary, BackupError> {
    let mut reader = BackupReader::open(input, name)?;
    let new = NewStore::begin(directory)?;
    if let Some(first) = first {
        check(first, name)?;
    }
    let mut consistency = ConsistencyCheck::default();
    let mut rows = RowWriter::of(new.open()?);
    while let Some(row) = reader.next_row()? {
        consistency
            .add(&row)
            .map_err(|what| inconsistent(name, what))?;
        let (space, key, value) = running_jobs::stop(row, reader.header().made_at)?;
        rows.bytes += key.len() + value.len();
        if space == Space::Tasks {
            rows.batch.count_schedule();
        }
        rows.batch.put(space, key, value);
        if rows.bytes >= BATCH {
            rows.commit()?;
        }
    }
    let checked = consistency
        .finish(reader.header())
        .map_err(|what| inconsistent(name, what))?;
    rows.close()?;
    new.finish()?;
    Ok(checked)
}

/// Writes rows in batches.
struct RowWriter {
    store: Embedded,
    batch: Batch,
    bytes: usize,
}

impl RowWriter {
    fn of(store: Embedded) -> Self {
        Self {
            store,
            batch: Batch::new(),
            bytes: 0,
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.store.commit(batch, Durability::Written)
    }

    /// Writes and syncs what is left, and closes the store.
    fn close(mut self) -> Result<(), StoreError> {
        self.commit()?;
        self.store.sync()
    }
}
