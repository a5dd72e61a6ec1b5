use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use super::{
    SalvageError,
    faults::{FileFault, FileFaults},
    journal_rows::{ChainStart, JournalRows},
    merge::RowMerge,
    space_folders::SpaceFolders,
    table_list,
};
use hyper_delay_fjall::{
    commit_record::{self, CommitFile, CommitFileState},
    data_directory::{self, Lock},
    files::version::TableFile,
};
use hyper_delay_store::{Space, StoreError};

/// The store of a stopped server.
#[derive(Debug)]
pub(super) struct StoppedStore {
    journals: JournalRows,
    folders: [PathBuf; Space::ALL.len()],
    tables: [Vec<TableFile>; Space::ALL.len()],
    /// Prevents a server from starting. `None` if there is no lock file, because creating one would
    /// change the directory.
    _lock: Option<Lock>,
}

impl StoppedStore {
    /// Locks the data directory and reads the journals and the lists of tables.
    pub(super) fn open(directory: &Path, faults: &mut FileFaults) -> Result<Self, SalvageError> {
        let store = directory.join(data_directory::STORE);
        if !store.join("keyspaces").is_dir() {
            return Err(match CommitFile::path(directory).exists() {
                true => SalvageError::StoreGone(directory.to_owned()),
                false => SalvageError::NoStore(directory.to_owned()),
            });
        }
        let lock = lock(directory)?;
        for file in ["version", "lock"].map(|name| store.join(name)) {
            if let Err(fault) = check_format_file(&file) {
                faults.add(fault);
            }
        }
        let spaces = SpaceFolders::read(&store, faults)?;
        let tables = Space::ALL.map(|space| {
            let mut found = FileFaults::default();
            let tables = table_list::list(&spaces.folder(space), &mut found);
            faults.add_in_space(found, space);
            tables
        });
        let path = CommitFile::path(directory);
        let (record, _) = CommitFile::read_slots(directory).map_err(SalvageError::at(&path))?;
        let record = match &record {
            CommitFileState::Read(commits) => Some(commits),
            CommitFileState::Missing | CommitFileState::Unreadable => None,
            CommitFileState::Newer(version) => {
                let found = commit_record::describe_newer(*version);
                let error = StoreError::newer("open", found).in_folder(directory);
                return Err(error.into());
            }
        };
        Ok(Self {
            folders: Space::ALL.map(|space| spaces.folder(space)),
            journals: JournalRows::read(&store, &spaces, record, faults)?,
            tables,
            _lock: lock,
        })
    }

    /// Reads a space in the order of its keys.
    pub(super) fn scan(&self, space: Space, faults: &mut FileFaults) -> RowMerge {
        let tables = &self.tables[space as usize];
        RowMerge::new(space, tables, self.journals.rows(space), faults)
    }

    /// Returns the folder with the tables of a space.
    pub(super) fn folder(&self, space: Space) -> &Path {
        &self.folders[space as usize]
    }

    /// Returns the commits of a space whose predecessor is in no journal.
    pub(super) fn chain_starts(&self, space: Space) -> &[ChainStart] {
        self.journals.chain_starts(space)
    }

    /// Compares every table with the checksum in its version file.
    pub(super) fn check_tables(&self, faults: &mut FileFaults) {
        for space in Space::ALL {
            for table in &self.tables[space as usize] {
                if let Err(fault) = table.check() {
                    faults.add(fault.in_space(space));
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
fn check_format_file(path: &Path) -> Result<(), FileFault> {
    let bytes = std::fs::read(path).map_err(|error| FileFault::new(path, error.to_string()))?;
    if path.ends_with("version") && bytes != data_directory::FORMAT {
        return Err(FileFault::new(
            path,
            "it does not name the format 3 of the store",
        ));
    }
    Ok(())
}
