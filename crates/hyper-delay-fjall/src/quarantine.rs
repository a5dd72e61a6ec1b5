use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::data_directory::sync;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::aside";

/// The prefix of folders with journals whose end was cut off and contained no recorded commit.
const CUT_PREFIX: &str = "cut-";

/// The prefix of folders with data that was removed when a loss was accepted.
const LOST_PREFIX: &str = "lost-";

/// The prefix of folders with damaged stores of which other nodes have replicas.
const DAMAGED_PREFIX: &str = "damaged-";

/// Maximum number of folders of cut journals. The oldest is removed when there is one more.
const MAX_CUT_FOLDERS: usize = 8;

/// A folder in the data directory for data that opening the store would cut off or delete.
///
/// Its name contains the time in UTC: `cut-20260131T235959Z`.
#[derive(Debug)]
pub(super) struct Quarantine {
    folder: PathBuf,
    /// Copies of journals with their original paths.
    copies: Vec<(PathBuf, PathBuf)>,
    /// Moved folders with their original paths.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl Quarantine {
    /// Creates a folder for cut journals, and removes the oldest such folders if there are too
    /// many.
    pub(super) fn for_cut_journals(directory: &Path) -> io::Result<Self> {
        let made = Self::make(directory, CUT_PREFIX)?;
        remove_oldest(directory)?;
        Ok(made)
    }

    /// Creates a folder for data that is removed because its loss is accepted. The server never
    /// deletes it.
    pub(super) fn for_accepted_loss(directory: &Path) -> io::Result<Self> {
        Self::make(directory, LOST_PREFIX)
    }

    /// Creates a folder for the damaged store of a replica. The server never deletes it.
    pub(super) fn for_damaged_replica(directory: &Path) -> io::Result<Self> {
        Self::make(directory, DAMAGED_PREFIX)
    }

    fn make(directory: &Path, prefix: &str) -> io::Result<Self> {
        let time = jiff::Timestamp::now()
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string();
        let mut number = 0;
        let folder = loop {
            let folder = match number {
                0 => directory.join(format!("{prefix}{time}")),
                number => directory.join(format!("{prefix}{time}-{number}")),
            };
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        sync(directory)?;
        Ok(Self {
            folder,
            copies: Vec::new(),
            moved: Vec::new(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Copies the first `written` bytes of a journal and syncs the copy.
    pub(super) fn copy_journal(&mut self, journal: &Path, written: u64) -> io::Result<()> {
        let copy = self.folder.join(name(journal)?);
        let mut file = File::create_new(&copy)?;
        io::copy(&mut File::open(journal)?.take(written), &mut file)?;
        file.sync_all()?;
        sync(&self.folder)?;
        self.copies.push((copy, journal.to_owned()));
        Ok(())
    }

    /// Moves a folder here, under its own name.
    pub(super) fn move_in(&mut self, folder: &Path) -> io::Result<()> {
        let inside = self.folder.join(name(folder)?);
        fs::rename(folder, &inside)?;
        self.moved.push((inside, folder.to_owned()));
        sync(&self.folder)?;
        folder.parent().map_or(Ok(()), sync)
    }

    /// Moves the folders and writes the copies of the journals back to their original paths. A
    /// folder that was made at such a path in between is moved here.
    pub(super) fn restore(&self) -> io::Result<()> {
        for (inside, folder) in &self.moved {
            if folder.try_exists()? {
                let mut replacement = name(folder)?.to_owned();
                replacement.push(".unopened");
                fs::rename(folder, self.folder.join(replacement))?;
            }
            fs::rename(inside, folder)?;
            if let Some(parent) = folder.parent() {
                sync(parent)?;
            }
        }
        for (copy, journal) in &self.copies {
            fs::copy(copy, journal)?;
            File::open(journal)?.sync_all()?;
        }
        Ok(())
    }
}

fn name(path: &Path) -> io::Result<&std::ffi::OsStr> {
    path.file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no name"))
}

/// Removes the oldest folders of cut journals beyond the maximum number. Their names sort by time.
fn remove_oldest(directory: &Path) -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_cut = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(CUT_PREFIX.as_bytes());
        if is_cut && entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort_unstable();
    let surplus = folders.len().saturating_sub(MAX_CUT_FOLDERS);
    for folder in &folders[..surplus] {
        tracing::warn!(
            target: TARGET,
            folder = %folder.display(),
            "removing the oldest copies of cut journals",
        );
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restore_writes_back_the_copied_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("7.jnl");
        fs::write(&journal, b"written and more\0\0\0").unwrap();
        let mut quarantine = Quarantine::for_cut_journals(directory.path()).unwrap();
        quarantine.copy_journal(&journal, 16).unwrap();
        fs::write(&journal, b"written").unwrap();
        quarantine.restore().unwrap();
        assert_eq!(fs::read(&journal).unwrap(), b"written and more");
        let copy = quarantine.folder().join("7.jnl");
        assert_eq!(fs::read(copy).unwrap(), b"written and more");
    }

    #[test]
    fn restore_moves_folders_back_and_keeps_what_replaced_them() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("3");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("table"), b"old").unwrap();
        let mut quarantine = Quarantine::for_accepted_loss(directory.path()).unwrap();
        quarantine.move_in(&folder).unwrap();
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("table"), b"new").unwrap();
        quarantine.restore().unwrap();
        assert_eq!(fs::read(folder.join("table")).unwrap(), b"old");
        let replacement = quarantine.folder().join("3.unopened/table");
        assert_eq!(fs::read(replacement).unwrap(), b"new");
    }

    #[test]
    fn the_oldest_folder_is_removed_when_there_are_too_many() {
        let directory = tempfile::tempdir().unwrap();
        let path = |number| {
            directory
                .path()
                .join(format!("{CUT_PREFIX}1970010{number}T000000Z"))
        };
        for number in 1..=4 {
            fs::create_dir(path(number)).unwrap();
        }
        let made: Vec<Quarantine> = (4..MAX_CUT_FOLDERS)
            .map(|_| Quarantine::for_cut_journals(directory.path()).unwrap())
            .collect();
        assert!(path(1).exists());
        let last = Quarantine::for_cut_journals(directory.path()).unwrap();
        assert!(!path(1).exists() && path(2).exists());
        assert!(made.iter().all(|made| made.folder().exists()));
        assert!(last.folder().exists());
    }
}
