//! The disk space that the stores of a node reserve, and the free space that a copy of a store
//! leaves to them.

use std::path::Path;

/// A copy of a store leaves at most this part of the disk free.
const HEADROOM_DIVISOR: u64 = 16;

/// The reserved space on the disk of a node with several stores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeReserve {
    /// The most bytes of the reserve of each store.
    pub(crate) per_store: u64,
    /// The free bytes that a copy leaves.
    ///
    /// A store whose disk has fewer free bytes than its next batches need takes them from its
    /// reserve. So a copy that left less would use up the reserves of all stores.
    pub(crate) headroom: u64,
}

impl NodeReserve {
    /// Reserves without a limit, and nothing beside them.
    pub(crate) const UNLIMITED: Self = Self {
        per_store: u64::MAX,
        headroom: 0,
    };

    /// Divides a reserve of `most` bytes among `stores` stores. A copy leaves as much again free,
    /// or a sixteenth of the disk if that is less.
    pub(crate) fn of(directory: &Path, most: u64, stores: u16) -> Self {
        let part = disk_size(directory).map_or(0, |disk| disk.total / HEADROOM_DIVISOR);
        Self {
            per_store: most / u64::from(stores.max(1)),
            headroom: most.min(part),
        }
    }

    /// Returns whether a copy of so many bytes leaves enough of the disk free. `true` where the
    /// system does not report it.
    pub(crate) fn allows(self, directory: &Path, bytes: u64) -> bool {
        disk_size(directory).is_none_or(|disk| disk.free >= self.headroom.saturating_add(bytes))
    }
}

/// The bytes of a disk.
struct DiskSize {
    free: u64,
    total: u64,
}

/// Returns the bytes of the disk of a directory. `None` where the system does not report them.
#[cfg(unix)]
fn disk_size(directory: &Path) -> Option<DiskSize> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(DiskSize {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        total: disk.f_blocks.saturating_mul(disk.f_frsize),
    })
}

#[cfg(not(unix))]
fn disk_size(_: &Path) -> Option<DiskSize> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn copy_leaves_the_reserve_or_a_part_of_a_small_disk() {
        let directory = tempfile::tempdir().unwrap();
        let disk = disk_size(directory.path()).unwrap();
        let reserve = NodeReserve::of(directory.path(), 1 << 20, 4);
        assert_eq!((reserve.per_store, reserve.headroom), (1 << 18, 1 << 20));
        let reserve = NodeReserve::of(directory.path(), u64::MAX, 4);
        assert_eq!(
            (reserve.per_store, reserve.headroom),
            (u64::MAX / 4, disk.total / 16)
        );
        assert_eq!(NodeReserve::of(directory.path(), 0, 4).headroom, 0);
    }

    #[test]
    fn copy_may_use_the_free_space_beyond_the_headroom() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = |headroom| NodeReserve {
            per_store: 0,
            headroom,
        };
        assert!(reserve(0).allows(directory.path(), 1));
        assert!(!reserve(u64::MAX - 1).allows(directory.path(), 1));
        assert!(!reserve(0).allows(directory.path(), u64::MAX));
    }
}
