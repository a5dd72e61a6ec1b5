//! Taking the store of a server without a cluster into a new cluster.
//!
//! Each row goes to the shard that has it in a cluster. Tasks, bulk operations and lines of the
//! audit get numbers of their shard, in the order of those before (`numbering`). The result depends
//! on nothing but the store, so an import that was interrupted is simply made again.
//!
//! # How the other nodes learn of it
//!
//! A node without a store has applied the first entry of a journal, as has every node of a new
//! cluster: it would take itself for up to date. So two entries that change nothing are put into
//! each journal, and the journal is shortened to the second one (`journal_start`). A node without a
//! store then lacks the first one, and takes a snapshot of a node that has the tasks. The entries
//! contain a hash of all rows, so stores of different imports never pass for the same.
//!
//! If the import breaks off before the journal is shortened, such a node can read both entries. The
//! first one follows nothing, so the shard stops on the node, and says that the import is to be run
//! again. The node takes a snapshot when it is started after that. The imported store is at the
//! second entry from the beginning, so it applies neither.

mod error;
mod journal_start;
mod new_shard_store;
mod numbering;
mod split;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use error::ImportError;
pub use journal_start::JournalStart;
pub(crate) use new_shard_store::NewShardStore;
pub use split::ImportReport;
pub(crate) use split::split;

use super::{Charter, ShardId};
use hyper_delay_archive::backup::NewStore;
use hyper_delay_fjall::{Embedded, OpenOptions, data_directory};
use hyper_delay_store::StoreError;

/// The data directory of a node that takes a store into a cluster. Until [`finish`](Self::finish)
/// no node starts in it.
#[derive(Debug)]
pub struct ClusterImport {
    new: NewStore,
    charter: Charter,
}

impl ClusterImport {
    /// Begins in a directory that is empty or does not exist, or has what an earlier import has
    /// left.
    ///
    /// # Errors
    ///
    /// If the directory has anything else, is in use, or cannot be written.
    pub fn begin(data_dir: &Path, charter: Charter) -> Result<Self, ImportError> {
        let new = NewStore::begin(data_dir)?;
        Ok(Self { new, charter })
    }

    /// Writes the stores of the shards. The store in `from` must be whole.
    ///
    /// # Errors
    ///
    /// If a server uses that store, it cannot be read, or the disk fails.
    pub fn split(&self, from: &Path) -> Result<ImportReport, ImportError> {
        let source = Embedded::open_with(from, OpenOptions::default())?;
        let targets = self.folders().map(|folder| {
            let options = OpenOptions {
                stores: self.charter.shards,
                ..OpenOptions::default()
            };
            Ok(NewShardStore::new(Arc::new(Embedded::open_with(
                &folder, options,
            )?)))
        });
        let mut targets = targets.collect::<Result<Vec<_>, StoreError>>()?;
        split(&source, &mut targets, self.charter)
    }

    /// Returns the directories of the stores of the shards.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folder = self.new.folder();
        (0..self.charter.shards).map(|shard| folder.join(shard.to_string()))
    }

    /// Removes the stores. The directory is as it was before.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn discard(self) -> Result<(), ImportError> {
        Ok(self.new.discard()?)
    }

    /// Moves the stores to their place.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn finish(self) -> Result<(), ImportError> {
        Ok(self.new.finish_as(data_directory::SHARDS)?)
    }
}

/// Returns all shards of a cluster.
fn shards(charter: Charter) -> impl Iterator<Item = ShardId> {
    (0..charter.shards).map(ShardId)
}
