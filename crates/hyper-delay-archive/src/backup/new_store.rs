use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::BackupError;
use hyper_delay_fjall::{
    self, Embedded, OpenOptions,
    commit_record::CommitFile,
    data_directory::{self, DataDirectory},
};
use hyper_delay_store::StoreError;

/// A store that is being made in a data directory without one. Until `finish` it is in a folder of
/// its own, and no server starts in the directory. Dropped before that, the store is removed and its
/// empty folder stays, so that no server begins without a task.
#[derive(Debug)]
pub struct NewStore {
    directory: PathBuf,
    folder: PathBuf,
    is_finished: bool,
    _data: DataDirectory,
}

impl NewStore {
    /// Begins a store in a directory that is empty, does not exist, or contains only an interrupted
    /// store.
    ///
    /// # Errors
    ///
    /// If the directory has anything else, another process uses it, or the disk fails.
    pub fn begin(directory: &Path) -> Result<Self, BackupError> {
        let folder = directory.join(data_directory::RESTORING);
        let is_left = folder.exists();
        if let Some(found) = occupied(directory)? {
            let name = directory.display().to_string();
            return Err(match is_left {
                true => BackupError::Unfinished { name, found },
                false => BackupError::NotEmpty { name, found },
            });
        }
        let data = hyper_delay_fjall::lock(directory)?;
        let made = match is_left {
            true => clear(&folder),
            false => fs::create_dir(&folder),
        };
        made.map_err(BackupError::at(&folder))?;
        data_directory::sync(directory).map_err(BackupError::at(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            folder,
            is_finished: false,
            _data: data,
        })
    }

    /// Returns the folder in which the store is made.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the whole folder to its place in the directory. What is in it must be closed, and
    /// synced.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn finish_as(mut self, name: &str) -> Result<(), BackupError> {
        let to = self.directory.join(name);
        data_directory::sync(&self.folder).map_err(BackupError::at(&self.folder))?;
        fs::rename(&self.folder, &to).map_err(BackupError::at(&to))?;
        self.is_finished = true;
        let synced = data_directory::sync(&self.directory);
        synced.map_err(BackupError::at(&self.directory))
    }

    /// Removes the store that was begun. A server starts in the directory as before.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn discard(mut self) -> Result<(), BackupError> {
        fs::remove_dir_all(&self.folder).map_err(BackupError::at(&self.folder))?;
        self.is_finished = true;
        let synced = data_directory::sync(&self.directory);
        synced.map_err(BackupError::at(&self.directory))
    }

    /// Opens the store.
    pub(super) fn open(&self) -> Result<Embedded, StoreError> {
        Embedded::open_with(&self.folder, OpenOptions::default())
    }

    /// Moves the store to its place. It must be closed, and synced.
    pub(super) fn finish(mut self) -> Result<(), BackupError> {
        // If this is interrupted, the folder is left, and no server starts.
        for (from, to) in [
            (
                CommitFile::path(&self.folder),
                CommitFile::path(&self.directory),
            ),
            (
                self.folder.join(data_directory::STORE),
                self.directory.join(data_directory::STORE),
            ),
        ] {
            fs::rename(&from, &to).map_err(BackupError::at(&to))?;
        }
        let synced = data_directory::sync(&self.directory);
        synced.map_err(BackupError::at(&self.directory))?;
        self.is_finished = true;
        fs::remove_dir_all(&self.folder).map_err(BackupError::at(&self.folder))?;
        let synced = data_directory::sync(&self.directory);
        synced.map_err(BackupError::at(&self.directory))
    }
}

impl Drop for NewStore {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = clear(&self.folder);
        }
    }
}

/// Deletes what is in a folder.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Returns the name of an entry of a directory, if there is one. A lock, an interrupted store and
/// `lost+found` do not count.
fn occupied(directory: &Path) -> Result<Option<String>, BackupError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BackupError::at(directory)(error)),
    };
    for entry in entries {
        let name = entry.map_err(BackupError::at(directory))?.file_name();
        let is_ours = name == data_directory::LOCK || name == data_directory::RESTORING;
        if !is_ours && name != "lost+found" {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}
