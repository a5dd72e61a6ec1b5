//! The stores of a node of a cluster: one for each shard.
//!
//! Data that a store has lost or a disk has damaged is in the journal of the shard or on other
//! nodes. So the start of a node does not refuse a damaged store, as that of a single node does. It
//! quarantines the store and begins without a task.
//!
//! A store that another node has sent replaces the one before at once: it has a folder of its own,
//! `1.3` for the third one of shard 1, and the folder with the highest number is current. It gets
//! that name when it is complete and synced.
//!
//! The loss of unsynced batches is no damage. The commit record of a store names only what was
//! synced.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Embedded, OpenOptions,
    commit_record::CommitFile,
    data_directory::{DataDirectory, RESTORING, SHARDS, STORE, sync, warn_if_world_accessible},
    disk::NodeReserve,
    lock,
    quarantine::Quarantine,
};
use hyper_delay_store::StoreError;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::replicas";

/// A file in the folder of a shard whose store was found to be damaged while it was in use. The
/// next start quarantines the folder.
const DAMAGE_NOTE: &str = "damaged";

/// The end of the names of folders with an incoming store.
const UNFINISHED_SUFFIX: &str = "unfinished";

/// The end of the name of the file with entries of the journal that wait for an incoming store.
const SPOOL_SUFFIX: &str = "spool";

/// The data directory of a node, locked by this process.
#[derive(Debug, Clone)]
pub struct NodeDirectory {
    directory: PathBuf,
    stores: u16,
    reserve: NodeReserve,
    lock: Arc<DataDirectory>,
}

impl NodeDirectory {
    /// Locks the data directory of a node with this number of stores, which is made if it does not
    /// exist, until this and its clones are dropped.
    ///
    /// # Errors
    ///
    /// If another process uses it, it cannot be used, or a single node has its store there.
    pub fn lock(directory: &Path, stores: u16) -> Result<Self, StoreError> {
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
        warn_if_world_accessible(directory);
        fs::create_dir_all(directory.join(SHARDS))
            .and_then(|()| sync(directory))
            .map_err(|error| StoreError::new("open", error).in_folder(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            stores,
            reserve: NodeReserve::UNLIMITED,
            lock: Arc::new(lock),
        })
    }

    /// Limits the reserves of all stores together to `most` bytes. An incoming store leaves as many
    /// bytes free, or a sixteenth of the disk if that is less.
    #[must_use]
    pub fn with_reserve(self, most: u64) -> Self {
        let reserve = NodeReserve::of(&self.directory, most, self.stores);
        Self { reserve, ..self }
    }

    /// Returns the free bytes that an incoming store leaves to the other stores.
    #[must_use]
    pub const fn headroom(&self) -> u64 {
        self.reserve.headroom
    }

    /// Returns whether the disk has space for so many bytes of entries that wait for an incoming
    /// store.
    #[must_use]
    pub fn has_disk_space_for(&self, bytes: u64) -> bool {
        self.reserve.allows(&self.directory, bytes)
    }

    /// Opens the store of a shard, or makes one if there is none. A damaged one is quarantined, and
    /// a new one takes its place.
    ///
    /// # Errors
    ///
    /// If the disk fails, or a newer server wrote the store.
    pub fn open(&self, shard: u16) -> Result<Embedded, StoreError> {
        self.remove_leftovers(shard)?;
        let folder = self.folder(shard)?;
        let damage = folder.join(DAMAGE_NOTE);
        match fs::read(&damage) {
            Ok(reason) => self.quarantine(shard, &String::from_utf8_lossy(&reason))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::new("open", error).in_folder(folder)),
        }
        match self.open_current(shard) {
            Err(error) if error.is_corruption() => {
                self.quarantine(shard, &error.reason().to_string())?;
                self.open_current(shard)
            }
            opened => opened,
        }
    }

    fn open_current(&self, shard: u16) -> Result<Embedded, StoreError> {
        let folder = self.folder(shard)?;
        self.open_in(&folder)
    }

    fn open_in(&self, folder: &Path) -> Result<Embedded, StoreError> {
        let store = Embedded::open_with(folder, self.options())?;
        Ok(store.with_reserve(self.reserve.per_store))
    }

    const fn options(&self) -> OpenOptions {
        OpenOptions {
            accept_loss: false,
            stores: self.stores,
            copies_cut_journals: false,
        }
    }

    /// Begins a store that replaces that of a shard once it is finished.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn receive(&self, shard: u16) -> Result<IncomingStore, StoreError> {
        // The thread of an earlier attempt can still be closing its folder.
        static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let folder = self.sibling(shard, &format!("{attempt}.{UNFINISHED_SUFFIX}"));
        let store = self.open_in(&folder)?;
        Ok(IncomingStore {
            directory: self.clone(),
            shard,
            folder,
            store: Some(store),
        })
    }

    /// Returns the path of the file for entries of the journal that wait for an incoming store.
    #[must_use]
    pub fn spool_path(&self, shard: u16) -> PathBuf {
        self.sibling(shard, SPOOL_SUFFIX)
    }

    /// Removes the stores of a shard that were replaced and are closed; a damaged one is
    /// quarantined. Returns whether none is left.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_replaced(&self, shard: u16) -> Result<bool, StoreError> {
        let mut stores = self.stores(shard)?;
        let _current = stores.pop();
        let mut are_removed = true;
        for (_, folder) in stores {
            let failed = |error| StoreError::new("remove", error).in_folder(&folder);
            // It is locked until it is closed.
            if lock(&folder).is_err() {
                are_removed = false;
                continue;
            }
            match fs::read(folder.join(DAMAGE_NOTE)) {
                Ok(reason) => {
                    self.quarantine_folder(shard, &folder, &String::from_utf8_lossy(&reason))?;
                }
                Err(_) => remove(&folder).map_err(failed)?,
            }
        }
        Ok(are_removed)
    }

    /// Removes the unfinished and replaced stores that an earlier process left.
    fn remove_leftovers(&self, shard: u16) -> Result<(), StoreError> {
        let is_left = |name: &str| {
            let of_shard = name
                .split_once('.')
                .filter(|(of, _)| *of == shard.to_string());
            of_shard.is_some_and(|(_, end)| end.ends_with(UNFINISHED_SUFFIX) || end == SPOOL_SUFFIX)
        };
        let folder = self.directory.join(SHARDS);
        let removed = fs::read_dir(&folder).and_then(|mut entries| {
            entries.try_for_each(|entry| {
                let entry = entry?;
                match entry.file_name().to_str().is_some_and(is_left) {
                    true => remove(&entry.path()),
                    false => Ok(()),
                }
            })
        });
        removed.map_err(|error| StoreError::new("remove", error).in_folder(&folder))?;
        self.remove_replaced(shard).map(drop)
    }

    /// Quarantines the closed store of a shard.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn quarantine(&self, shard: u16, reason: &str) -> Result<(), StoreError> {
        let folder = self.folder(shard)?;
        self.quarantine_folder(shard, &folder, reason)
    }

    fn quarantine_folder(&self, shard: u16, folder: &Path, reason: &str) -> Result<(), StoreError> {
        let name = folder.file_name().unwrap_or_default();
        let moved = Quarantine::for_damaged_replica(&self.directory).and_then(|mut quarantine| {
            quarantine.move_in(folder)?;
            // It is for acks on a full disk, and may be large.
            match fs::remove_file(quarantine.folder().join(name).join("reserve")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(quarantine),
            }
        });
        let quarantine = moved.map_err(|error| StoreError::new("move", error).in_folder(folder))?;
        tracing::error!(
            target: TARGET,
            shard,
            reason,
            moved_to = %quarantine.folder().display(),
            "the store of a shard is damaged and was moved aside: this node takes the tasks from \
             the journal and from other nodes; remove the folder when all nodes are well",
        );
        Ok(())
    }

    /// Notes that the open store of a shard is damaged: the next start quarantines it.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn mark_damaged(&self, shard: u16, reason: &str) -> io::Result<()> {
        let folder = self.folder(shard).map_err(io::Error::other)?;
        let mut note = File::create(folder.join(DAMAGE_NOTE))?;
        note.write_all(reason.as_bytes())?;
        note.sync_all()?;
        sync(&folder)
    }

    /// Returns the folder of the store of a shard, which may not exist yet.
    fn folder(&self, shard: u16) -> Result<PathBuf, StoreError> {
        let current = self.stores(shard)?.pop();
        let first = || self.directory.join(SHARDS).join(shard.to_string());
        Ok(current.map_or_else(first, |(_, folder)| folder))
    }

    /// Returns the folders of the stores of a shard by their numbers. The last one is current.
    fn stores(&self, shard: u16) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        let folder = self.directory.join(SHARDS);
        let number = |name: &str| match name.split_once('.') {
            None => (name == shard.to_string()).then_some(0),
            Some((of, number)) if of == shard.to_string() => number.parse().ok(),
            Some(_) => None,
        };
        let stores = fs::read_dir(&folder).and_then(|entries| {
            let mut stores = Vec::new();
            for entry in entries {
                let entry = entry?;
                if let Some(number) = entry.file_name().to_str().and_then(number) {
                    stores.push((number, entry.path()));
                }
            }
            stores.sort_unstable();
            Ok(stores)
        });
        stores.map_err(|error| StoreError::new("open", error).in_folder(folder))
    }

    fn sibling(&self, shard: u16, end: &str) -> PathBuf {
        self.directory.join(SHARDS).join(format!("{shard}.{end}"))
    }

    /// Returns a reference that does not keep the directory locked.
    #[must_use]
    pub fn downgrade(&self) -> WeakNodeDirectory {
        WeakNodeDirectory {
            directory: self.directory.clone(),
            stores: self.stores,
            reserve: self.reserve,
            lock: Arc::downgrade(&self.lock),
        }
    }
}

/// A reference to a [`NodeDirectory`] that does not keep it locked.
#[derive(Debug, Clone)]
pub struct WeakNodeDirectory {
    directory: PathBuf,
    stores: u16,
    reserve: NodeReserve,
    lock: Weak<DataDirectory>,
}

impl WeakNodeDirectory {
    /// Returns the directory, if it is still locked.
    #[must_use]
    pub fn upgrade(&self) -> Option<NodeDirectory> {
        Some(NodeDirectory {
            directory: self.directory.clone(),
            stores: self.stores,
            reserve: self.reserve,
            lock: self.lock.upgrade()?,
        })
    }
}

/// A store that replaces that of a shard once it is finished. Dropped before that, it is removed.
#[derive(Debug)]
pub struct IncomingStore {
    directory: NodeDirectory,
    shard: u16,
    folder: PathBuf,
    /// `None`: it is finished.
    store: Option<Embedded>,
}

impl IncomingStore {
    /// Returns the store.
    ///
    /// # Panics
    ///
    /// Never: the store is there until it is finished.
    #[must_use]
    pub const fn store(&self) -> &Embedded {
        self.store.as_ref().expect("it is not finished")
    }

    /// Replaces the store of the shard by this one, which must be synced, and opens it. Blocks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn finish(mut self) -> Result<Embedded, StoreError> {
        drop(self.store.take());
        let last = self.directory.stores(self.shard)?.pop();
        let number = last.map_or(0, |(number, _)| number + 1);
        let folder = self.directory.sibling(self.shard, &number.to_string());
        let renamed = fs::rename(&self.folder, &folder)
            .and_then(|()| sync(&self.directory.directory.join(SHARDS)));
        renamed.map_err(|error| StoreError::new("rename", error).in_folder(&self.folder))?;
        self.directory.open_current(self.shard)
    }
}

impl Drop for IncomingStore {
    fn drop(&mut self) {
        drop(self.store.take());
        // If this fails, the next attempt or start removes it.
        let _ = remove(&self.folder);
    }
}

/// Removes a file or a folder, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
