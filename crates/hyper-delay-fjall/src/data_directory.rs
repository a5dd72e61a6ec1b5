//! The data directory: its lock, its permissions, and the syncs of its names.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::data_directory";

/// The folder of the store in a data directory.
pub const STORE: &str = "store";

/// The content of the file `version` of a store.
pub const FORMAT: &[u8] = b"FJL\x03";

/// Returns the format in the file `version` of a store if it is newer than [`FORMAT`]. One that
/// differs in a single bit is damage: the next format that would is 7.
pub(crate) fn newer_format(version: &[u8]) -> Option<u8> {
    match version {
        [b'F', b'J', b'L', format] if *format > FORMAT[3] => {
            Some(*format).filter(|format| (format ^ FORMAT[3]).count_ones() > 1)
        }
        _ => None,
    }
}

/// The folder with the stores of the shards, in the data directory of a node of a cluster.
pub const SHARDS: &str = "shards";

/// The folder in a data directory with the unfinished store of a restore or an import.
pub const RESTORING: &str = "restore.unfinished";

/// The folder of a store that is being created.
const UNFINISHED: &str = "store.new";

/// The file that the process which uses the directory holds a lock on.
pub const LOCK: &str = "lock";

/// A locked file, unlocked when this is dropped. Closing it is not enough: a process that another
/// thread starts holds a copy of every open file until it runs its program.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks the file unless another process, or another [`Lock`] of this one, has locked it.
    ///
    /// # Errors
    ///
    /// If one has, or the file cannot be locked.
    pub fn of(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Without success it is unlocked when the last copy is closed.
        let _ = self.0.unlock();
    }
}

/// A data directory that this process has locked.
#[derive(Debug)]
pub struct DataDirectory {
    directory: PathBuf,
    _lock: Lock,
}

impl DataDirectory {
    /// Creates the directory if it does not exist, and locks it until this is dropped or the
    /// process ends.
    ///
    /// # Errors
    ///
    /// `Locked` if another process uses the directory; otherwise the error of the file system.
    pub(super) fn lock(directory: &Path) -> Result<Self, fjall::Error> {
        make(directory)?;
        let file = File::create(directory.join(LOCK))?;
        let lock = Lock::of(file).map_err(|error| match error {
            TryLockError::WouldBlock => fjall::Error::Locked,
            TryLockError::Error(error) => error.into(),
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
        })
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the store, which may not exist yet.
    pub(super) fn store(&self) -> PathBuf {
        self.directory.join(STORE)
    }

    pub(super) fn has_store(&self) -> Result<bool, io::Error> {
        self.store().try_exists()
    }

    /// Creates the store with `create` in a temporary folder and renames that folder when it is
    /// complete. After a crash in between, the next call starts over.
    pub(super) fn create(
        &self,
        create: impl FnOnce(&Path) -> Result<(), fjall::Error>,
    ) -> Result<(), fjall::Error> {
        let unfinished = self.directory.join(UNFINISHED);
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        create(&unfinished)?;
        fs::rename(&unfinished, self.store())?;
        Ok(sync_with_parents(&self.directory)?)
    }
}

/// Makes a directory that only its owner can use, if there is none.
fn make(directory: &Path) -> Result<(), io::Error> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        made => made,
    }
}

/// Warns if every user of the system can reach the files in a directory.
pub fn warn_if_world_accessible(directory: &Path) {
    if let Some(mode) = world_accessible_mode(directory) {
        tracing::warn!(
            target: TARGET,
            data_dir = %directory.display(),
            mode = format_args!("{mode:o}"),
            "every user of this machine can reach the files in data_dir: run chmod 700 on it",
        );
    }
}

/// Returns the mode of a directory if every user of the system can reach the files in it.
#[cfg(unix)]
fn world_accessible_mode(directory: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let directory = directory.canonicalize().ok()?;
    let is_open = |folder: &Path| fs::metadata(folder).is_ok_and(|it| it.mode() & 0o001 != 0);
    let mode = fs::metadata(&directory).ok()?.mode() & 0o777;
    directory.ancestors().all(is_open).then_some(mode)
}

#[cfg(not(unix))]
fn world_accessible_mode(_: &Path) -> Option<u32> {
    None
}

/// Syncs the names in a directory to the disk, on systems that need it.
///
/// # Errors
///
/// If the disk fails.
pub fn sync(directory: &Path) -> Result<(), io::Error> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Syncs the names in a directory and in all its parents, any of which may be new.
///
/// # Errors
///
/// If the disk fails.
pub fn sync_with_parents(directory: &Path) -> Result<(), io::Error> {
    sync(directory)?;
    // A parent that cannot be opened is not new.
    for around in directory.canonicalize()?.ancestors().skip(1) {
        let _ = sync(around);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_not_a_newer_format() {
        for bit in 0..8 * FORMAT.len() {
            let mut version = FORMAT.to_vec();
            version[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(newer_format(&version), None, "bit {bit}");
        }
        assert_eq!(newer_format(b"FJL\x04"), Some(4));
        assert_eq!(newer_format(b"FJL\x05"), Some(5));
    }

    fn write_a_store(directory: &Path) -> Result<(), fjall::Error> {
        fs::create_dir(directory)?;
        Ok(fs::write(directory.join("file"), "whole")?)
    }

    #[test]
    fn an_unfinished_store_is_created_again() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("new/and new");
        let data = DataDirectory::lock(&directory).unwrap();
        let crashed = data.create(|unfinished| {
            write_a_store(unfinished)?;
            Err(fjall::Error::Unrecoverable)
        });
        crashed.unwrap_err();
        assert!(!data.has_store().unwrap());
        data.create(write_a_store).unwrap();
        assert!(data.has_store().unwrap());
        assert!(!directory.join(UNFINISHED).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_directory_is_for_its_owner_and_one_that_exists_stays_as_it_is() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

        let directory = tempfile::tempdir().unwrap();
        let mode = |folder: &Path| fs::metadata(folder).unwrap().mode() & 0o777;
        let new = directory.path().join("new/db");
        drop(DataDirectory::lock(&new).unwrap());
        assert_eq!(mode(&new), 0o700);
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        drop(DataDirectory::lock(&new).unwrap());
        assert_eq!(mode(&new), 0o755);
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(DataDirectory::lock(&file).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_open_if_all_around_it_are() {
        use std::os::unix::fs::PermissionsExt as _;

        let directory = tempfile::tempdir().unwrap();
        let set = |folder: &Path, mode| {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        };
        let inner = directory.path().join("db");
        fs::create_dir(&inner).unwrap();
        // The folder of temporary files can be private itself.
        let is_reachable = world_accessible_mode(directory.path().parent().unwrap()).is_some();
        for (outer, mode, is_open) in [
            (0o755, 0o755, true),
            (0o711, 0o701, true),
            (0o755, 0o750, false),
            (0o750, 0o755, false),
        ] {
            set(directory.path(), outer);
            set(&inner, mode);
            let expected = Some(mode).filter(|_| is_open && is_reachable);
            assert_eq!(
                world_accessible_mode(&inner),
                expected,
                "{outer:o} {mode:o}"
            );
        }
    }

    #[test]
    fn a_directory_is_locked_by_one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDirectory::lock(directory.path()).unwrap();
        let error = DataDirectory::lock(directory.path()).unwrap_err();
        assert!(matches!(error, fjall::Error::Locked));
        drop(data);
        DataDirectory::lock(directory.path()).unwrap();
    }

    #[test]
    fn a_process_that_is_being_started_does_not_keep_a_directory_locked() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDirectory::lock(directory.path()).unwrap();
        // The descriptor that the other process holds.
        let _copy = data._lock.0.try_clone().unwrap();
        drop(data);
        DataDirectory::lock(directory.path()).unwrap();
    }
}
