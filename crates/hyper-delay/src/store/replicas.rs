//! The stores of a node of a cluster: one for each shard.
//!
//! What a store has lost or a disk has damaged is in the journal of the shard or on other nodes. So
//! the start of a node does not refuse a damaged store, as that of a single node does. It moves the
//! store aside and begins without a task.
//!
//! The loss of unsynced batches is no damage. The commit record of a store names only what was
//! synced.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Embedded, OpenOptions, StoreError,
    aside::Aside,
    commits::CommitFile,
    data_directory::{DataDirectory, RESTORING, SHARDS, STORE, sync, warn_if_open},
    lock,
};

/// A file in the folder of a shard whose store was found to be damaged while it was in use. The
/// next start moves the folder aside.
const DAMAGED: &str = "damaged";

/// The data directory of a node, locked by this process.
#[derive(Debug, Clone)]
pub(crate) struct NodeDirectory {
    directory: PathBuf,
    stores: u16,
    _lock: Arc<DataDirectory>,
}

impl NodeDirectory {
    /// Locks the data directory of a node with this number of stores, which is made if it does not
    /// exist, until this and its clones are dropped.
    ///
    /// # Errors
    ///
    /// If another process uses it, it cannot be used, or a single node has its store there.
    pub(crate) fn lock(directory: &Path, stores: u16) -> Result<Self, StoreError> {
        let lock = lock(directory)?;
        if directory.join(RESTORING).exists() {
            let directory = directory.display();
            return Err(StoreError::directory(format!(
                "data_dir {directory} has what is left of a restore or import that was interrupted \
                 or failed: run `hyper-delay cluster import` again, or delete what is in it to \
                 begin without a task"
            )));
        }
        let commits = CommitFile::path(directory);
        if directory.join(STORE).exists() || commits.exists() {
            let directory = directory.display();
            return Err(StoreError::directory(format!(
                "data_dir {directory} has the store of a single node: `hyper-delay cluster import` \
                 takes its tasks into a cluster; or set another data_dir for this node"
            )));
        }
        warn_if_open(directory);
        fs::create_dir_all(directory.join(SHARDS))
            .and_then(|()| sync(directory))
            .map_err(|error| StoreError::new("open", error).in_folder(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            stores,
            _lock: Arc::new(lock),
        })
    }

    /// Opens the store of a shard, or makes one if there is none. A damaged one is moved aside, and
    /// a new one takes its place.
    ///
    /// # Errors
    ///
    /// If the disk fails, or a newer server wrote the store.
    pub(crate) fn open(&self, shard: u16) -> Result<Embedded, StoreError> {
        let folder = self.folder(shard);
        let damage = folder.join(DAMAGED);
        match fs::read(&damage) {
            Ok(reason) => self.move_aside(shard, &String::from_utf8_lossy(&reason))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::new("open", error).in_folder(folder)),
        }
        match self.open_as_it_is(shard) {
            Err(error) if error.is_of_contents() => {
                self.move_aside(shard, &error.to_string())?;
                self.open_as_it_is(shard)
            }
            opened => opened,
        }
    }

    fn open_as_it_is(&self, shard: u16) -> Result<Embedded, StoreError> {
        let options = OpenOptions {
            accept_loss: false,
            stores: self.stores,
            keeps_cuts: false,
        };
        Embedded::open_with(&self.folder(shard), options)
    }

    /// Moves the closed store of a shard aside.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn move_aside(&self, shard: u16, reason: &str) -> Result<(), StoreError> {
        let folder = self.folder(shard);
        let moved = Aside::of_damaged_replica(&self.directory).and_then(|mut aside| {
            aside.take(&folder)?;
            sync(&self.directory.join(SHARDS))?;
            // It is for acks on a full disk, and may be large.
            match fs::remove_file(aside.folder().join(shard.to_string()).join("reserve")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(aside),
            }
        });
        let aside = moved.map_err(|error| StoreError::new("move", error).in_folder(&folder))?;
        tracing::error!(
            shard,
            reason,
            moved_to = %aside.folder().display(),
            "the store of a shard is damaged and was moved aside: this node takes the tasks from \
             the journal and from other nodes; remove the folder when all nodes are well"
        );
        Ok(())
    }

    /// Notes that the open store of a shard is damaged: the next start moves it aside.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn note_damage(&self, shard: u16, reason: &str) -> io::Result<()> {
        let folder = self.folder(shard);
        fs::write(folder.join(DAMAGED), reason)?;
        sync(&folder)
    }

    fn folder(&self, shard: u16) -> PathBuf {
        self.directory.join(SHARDS).join(shard.to_string())
    }
}
