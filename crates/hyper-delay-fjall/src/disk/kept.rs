//! The room that the stores of a node keep, and what a copy leaves them.

use std::path::Path;

/// A copy of a store leaves at most this part of the disk free.
const PART: u64 = 16;

/// The room that is kept on the disk of a node with several stores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// The most bytes of the reserve of each store.
    pub(crate) of_each: u64,
    /// The free bytes that a copy leaves.
    ///
    /// A store whose disk has fewer free bytes than its next batches need takes them from its
    /// reserve. So a copy that left less would use up the reserves of all stores.
    pub(crate) free: u64,
}

impl Kept {
    /// Reserves without a limit, and nothing beside them.
    pub(crate) const UNLIMITED: Self = Self {
        of_each: u64::MAX,
        free: 0,
    };

    /// Divides a reserve of `most` bytes among `stores` stores. A copy leaves as much again free,
    /// or a sixteenth of the disk if that is less.
    pub(crate) fn of(directory: &Path, most: u64, stores: u16) -> Self {
        let part = disk(directory).map_or(0, |disk| disk.total / PART);
        Self {
            of_each: most / u64::from(stores.max(1)),
            free: most.min(part),
        }
    }

    /// Returns whether so many bytes leave enough of the disk free. `true` where the system does
    /// not tell.
    pub(crate) fn allows(self, directory: &Path, bytes: u64) -> bool {
        disk(directory).is_none_or(|disk| disk.free >= self.free.saturating_add(bytes))
    }
}

/// The bytes of a disk.
struct Disk {
    free: u64,
    total: u64,
}

/// Returns the bytes of the disk of a directory. `None` where the system does not tell.
#[cfg(unix)]
fn disk(directory: &Path) -> Option<Disk> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(Disk {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        total: disk.f_blocks.saturating_mul(disk.f_frsize),
    })
}

#[cfg(not(unix))]
fn disk(_: &Path) -> Option<Disk> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn copy_leaves_the_reserve_or_a_part_of_a_small_disk() {
        let directory = tempfile::tempdir().unwrap();
        let disk = disk(directory.path()).unwrap();
        let kept = Kept::of(directory.path(), 1 << 20, 4);
        assert_eq!((kept.of_each, kept.free), (1 << 18, 1 << 20));
        let kept = Kept::of(directory.path(), u64::MAX, 4);
        assert_eq!((kept.of_each, kept.free), (u64::MAX / 4, disk.total / 16));
        assert_eq!(Kept::of(directory.path(), 0, 4).free, 0);
    }

    #[test]
    fn copy_is_allowed_what_the_disk_has_beside_that() {
        let directory = tempfile::tempdir().unwrap();
        let free = |free| Kept { of_each: 0, free };
        assert!(free(0).allows(directory.path(), 1));
        assert!(!free(u64::MAX - 1).allows(directory.path(), 1));
        assert!(!free(0).allows(directory.path(), u64::MAX));
    }
}
