use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// What a data directory has the store in.
pub(crate) const STORE: &str = "store";

/// A store that is being made.
const UNFINISHED: &str = "store.new";

/// Locked by the process that has the directory.
pub(crate) const LOCK: &str = "lock";

/// A data directory that no other process has.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    _lock: File,
}

impl Place {
    /// Makes the directory if there is none, and takes it until this is dropped, or the process ends in whatever
    /// way.
    pub(super) fn take(directory: &Path) -> Result<Self, fjall::Error> {
        fs::create_dir_all(directory)?;
        let lock = File::create(directory.join(LOCK))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => fjall::Error::Locked,
            TryLockError::Error(error) => error.into(),
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
        })
    }

    /// Where the store is, or will be.
    pub(super) fn store(&self) -> PathBuf {
        self.directory.join(STORE)
    }

    pub(super) fn has_store(&self) -> Result<bool, io::Error> {
        self.store().try_exists()
    }

    /// Makes the store under another name, and moves it to its place when it is whole. So a crash on the way
    /// leaves nothing behind that the next start would have to make sense of.
    pub(super) fn make(
        &self,
        make: impl FnOnce(&Path) -> Result<(), fjall::Error>,
    ) -> Result<(), fjall::Error> {
        let unfinished = self.directory.join(UNFINISHED);
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        make(&unfinished)?;
        fs::rename(&unfinished, self.store())?;
        sync(&self.directory)?;
        // The directory itself may be new, and those around it; what cannot be opened is not.
        for around in self.directory.canonicalize()?.ancestors().skip(1) {
            let _ = sync(around);
        }
        Ok(())
    }
}

/// Brings the names in a directory to the disk, where that is a thing to do.
pub(crate) fn sync(directory: &Path) -> Result<(), io::Error> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_a_store(directory: &Path) -> Result<(), fjall::Error> {
        fs::create_dir(directory)?;
        Ok(fs::write(directory.join("file"), "whole")?)
    }

    #[test]
    fn a_store_that_was_left_half_made_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("new/and new");
        let place = Place::take(&directory).unwrap();
        let crashed = place.make(|unfinished| {
            write_a_store(unfinished)?;
            Err(fjall::Error::Unrecoverable)
        });
        crashed.unwrap_err();
        assert!(!place.has_store().unwrap());
        place.make(write_a_store).unwrap();
        assert!(place.has_store().unwrap());
        assert!(!directory.join(UNFINISHED).exists());
    }

    #[test]
    fn a_directory_can_be_taken_once_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::take(directory.path()).unwrap();
        let error = Place::take(directory.path()).unwrap_err();
        assert!(matches!(error, fjall::Error::Locked));
        drop(place);
        Place::take(directory.path()).unwrap();
    }
}
