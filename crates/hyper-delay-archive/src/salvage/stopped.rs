use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use super::{
    SalvageError,
    faults::{Fault, Faults},
    journals::{Base, Journals},
    merge::Merge,
    spaces::Spaces,
    tables,
};
use hyper_delay_fjall::{
    commits::{self, CommitFile, Found},
    data_directory::{self, Lock},
    files::version::TableFile,
};
use hyper_delay_store::{Space, StoreError};

/// The store of a stopped server.
#[derive(Debug)]
pub(super) struct Stopped {
    journals: Journals,
    folders: [PathBuf; Space::ALL.len()],
    tables: [Vec<TableFile>; Space::ALL.len()],
    /// Prevents a server from starting. `None` if there is no lock file, because creating one would
    /// change the directory.
    _lock: Option<Lock>,
}

impl Stopped {
    /// Locks the data directory and reads the journals and the lists of tables.
    pub(super) fn open(directory: &Path, faults: &mut Faults) -> Result<Self, SalvageError> {
        let store = directory.join(data_directory::STORE);
        if !store.join("keyspaces").is_dir() {
            return Err(match CommitFile::path(directory).exists() {
                true => SalvageError::StoreGone(directory.to_owned()),
                false => SalvageError::NoStore(directory.to_owned()),
            });
        }
        let lock = lock(directory)?;
        for file in ["version", "lock"].map(|name| store.join(name)) {
            if let Err(fault) = check_mark(&file) {
                faults.add(fault);
            }
        }
        let spaces = Spaces::read(&store, faults)?;
        let tables = Space::ALL.map(|space| {
            let mut found = Faults::default();
            let tables = tables::tables(&spaces.folder(space), &mut found);
            faults.add_all(found, space);
            tables
        });
        let path = CommitFile::path(directory);
        let (record, _) = CommitFile::read_slots(directory).map_err(SalvageError::at(&path))?;
        let record = match &record {
            Found::Read(commits) => Some(commits),
            Found::Missing | Found::Unreadable => None,
            Found::Newer(version) => {
                let found = commits::newer(*version);
                let error = StoreError::newer("open", found).in_folder(directory);
                return Err(error.into());
            }
        };
        Ok(Self {
            folders: Space::ALL.map(|space| spaces.folder(space)),
            journals: Journals::read(&store, &spaces, record, faults)?,
            tables,
            _lock: lock,
        })
    }

    /// Reads a space in the order of its keys.
    pub(super) fn scan(&self, space: Space, faults: &mut Faults) -> Merge {
        let tables = &self.tables[space as usize];
        Merge::new(space, tables, self.journals.rows(space), faults)
    }

    /// Returns the folder with the tables of a space.
    pub(super) fn folder(&self, space: Space) -> &Path {
        &self.folders[space as usize]
    }

    /// Returns the commits of a space whose predecessor is in no journal.
    pub(super) fn bases(&self, space: Space) -> &[Base] {
        self.journals.bases(space)
    }

    /// Compares every table with the checksum in its version file.
    pub(super) fn check_tables(&self, faults: &mut Faults) {
        for space in Space::ALL {
            for table in &self.tables[space as usize] {
                if let Err(fault) = table.check() {
                    faults.add(fault.of(space));
                }
            }
        }
    }
}

fn lock(directory: &Path) -> Result<Option<Lock>, SalvageError> {
    let path: PathBuf = directory.join(data_directory::LOCK);
    if !path.exists() {
        return Ok(None);
    }
    let file = File::open(&path).map_err(SalvageError::at(&path))?;
    match Lock::of(file) {
        Ok(lock) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(SalvageError::InUse(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(SalvageError::Io { path, source }),
    }
}

/// Checks a file that the library needs for opening the store: `version` or `lock`.
fn check_mark(path: &Path) -> Result<(), Fault> {
    let bytes = std::fs::read(path).map_err(|error| Fault::new(path, error.to_string()))?;
    if path.ends_with("version") && bytes != data_directory::FORMAT {
        return Err(Fault::new(
            path,
            "it does not name the format 3 of the store",
        ));
    }
    Ok(())
}
