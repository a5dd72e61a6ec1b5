//! Replaces a file as a whole.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Replaces the contents of a file: readers see the old ones or the new ones. A link is followed,
/// and the file keeps its owner, group and mode. Only its owner can use a file that did not exist.
///
/// # Errors
///
/// If a file cannot be written beside it, cannot be given to the same owner, or if the disk fails.
/// If only the folder could not be synced, the message says that the file is replaced.
pub(super) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let before = match fs::metadata(&path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let new = sibling_path(&path, &format!(".{}.new", std::process::id()));
    let written = create(&new).and_then(|mut file| {
        if let Some(before) = &before {
            copy_permissions(&file, before)?;
        }
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&new, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
        return written;
    }
    // Without this a power failure can bring back what a revocation has removed.
    let synced = fs::canonicalize(&path).and_then(|path| sync_folder(&path));
    synced.map_err(|error| {
        let message = format!(
            "it is replaced, but its folder cannot be synced ({error}): after a power failure the old \
             file can be there; look at the disk, and do it again"
        );
        io::Error::new(error.kind(), message)
    })
}

/// Syncs the name of a file to the disk, on systems that need it.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Opens the file that is locked while another one is read and replaced. It is beside the target of
/// links, and belongs to the owner of the target, so that a change by root does not lock that user
/// out.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let path = target(path)?;
    let lock = sibling_path(&path, ".lock");
    match create(&lock) {
        Ok(file) => {
            if let Ok(metadata) = fs::metadata(&path) {
                copy_permissions(&file, &metadata)?;
            }
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut options = File::options();
            options.write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::custom_flags(
                &mut options,
                rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
            );
            options.open(lock)
        }
        Err(error) => Err(error),
    }
}

/// Returns the file that a path stands for, which may not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.is_symlink() {
            true => Err(io::Error::other(
                "it is a link to a file that does not exist: make that file, or remove the link",
            )),
            false => Ok(path.to_owned()),
        },
        resolved => resolved,
    }
}

fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates a file that only its owner can use.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Gives a new file the owner, the group and the mode of another one.
#[cfg(unix)]
fn copy_permissions(file: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let made = file.metadata()?;
    if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
        fchown(file, Some(like.uid()), Some(like.gid())).map_err(|error| {
            let (user, group) = (like.uid(), like.gid());
            io::Error::other(format!(
                "it belongs to the user {user} and the group {group}, which it must keep, and that \
                 failed: {error}; run the command as that user, or as root"
            ))
        })?;
    }
    file.set_permissions(like.permissions())
}

#[cfg(not(unix))]
fn copy_permissions(file: &File, like: &Metadata) -> io::Result<()> {
    file.set_permissions(like.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_file_has_the_contents_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for contents in ["one", "other"] {
            replace(&path, contents.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), contents);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("real")).unwrap();
        let real = directory.path().join("real/file");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("real/file", &link).unwrap();
        let error = replace(&link, b"one").unwrap_err().to_string();
        assert!(error.contains("remove the link"), "{error}");
        fs::write(&real, "one").unwrap();
        replace(&link, b"other").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "other");
        drop(lock(&link).unwrap());
        assert!(directory.path().join("real/file.lock").exists());
    }

    /// Root can give a file to anybody, others only to their groups.
    #[cfg(unix)]
    fn other_owner() -> (Option<u32>, Option<u32>) {
        match rustix::process::geteuid().is_root() {
            true => (Some(7_000), Some(7_001)),
            false => {
                let groups = rustix::process::getgroups().unwrap();
                (None, groups.last().map(|group| group.as_raw()))
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn owner_group_and_mode_stay() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let (user, group) = other_owner();
        chown(&path, user, group).unwrap();
        let of = |path: &Path| {
            let metadata = fs::metadata(path).unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode() & 0o777)
        };
        let before = of(&path);
        replace(&path, b"other").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
        assert_eq!(of(&path), before);
        drop(lock(&path).unwrap());
        assert_eq!(of(&directory.path().join("file.lock")), before);
    }

    #[cfg(unix)]
    #[test]
    fn lock_is_no_link_to_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(directory.path().join("elsewhere"), "").unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join("file.lock")).unwrap();
        lock(&path).unwrap_err();
    }
}
