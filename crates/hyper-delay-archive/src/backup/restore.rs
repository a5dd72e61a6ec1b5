use std::{io::Read, path::Path};

use super::{
    BackupError,
    check::{Census, Checked, check, inconsistent},
    jobs,
    new_store::NewStore,
    reader::Reader,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_store::{Batch, Durability, Space, Store as _, StoreError};

/// Bytes of a batch.
const BATCH: usize = 1 << 20;

/// Writes a backup as the store of `directory`, which must be empty or not exist, or have what an
/// earlier restore has left. The store is in its place only when the whole backup was read and is
/// consistent. No server starts in the directory before, nor after an error.
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
) -> Result<Checked, BackupError> {
    let mut reader = Reader::open(input, name)?;
    let new = NewStore::begin(directory)?;
    if let Some(first) = first {
        check(first, name)?;
    }
    let mut census = Census::default();
    let mut rows = Rows::of(new.open()?);
    while let Some(row) = reader.next_row()? {
        census.add(&row).map_err(|what| inconsistent(name, what))?;
        let (space, key, value) = jobs::stopped(row, reader.header().made_at)?;
        rows.bytes += key.len() + value.len();
        if space == Space::Tasks {
            rows.batch.count_schedule();
        }
        rows.batch.put(space, key, value);
        if rows.bytes >= BATCH {
            rows.commit()?;
        }
    }
    let checked = census
        .finish(reader.header())
        .map_err(|what| inconsistent(name, what))?;
    rows.close()?;
    new.finish()?;
    Ok(checked)
}

/// Writes rows in batches.
struct Rows {
    store: Embedded,
    batch: Batch,
    bytes: usize,
}

impl Rows {
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
