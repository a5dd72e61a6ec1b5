//! A file that reserves space on the disk, so that other programs cannot take it.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use super::allocate;

/// The name of the file in the data directory.
const NAME: &str = "reserve";

/// A file with allocated blocks. Shrinking it frees disk space for the store.
#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    size: u64,
}

impl Reserve {
    /// Opens the reserve of a data directory, or creates an empty one.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join(NAME))?;
        let metadata = file.metadata()?;
        let mut reserve = Self {
            file,
            size: metadata.len(),
        };
        if allocate::allocated(&metadata) < reserve.size {
            // A copy of the directory may be sparse.
            reserve.shrink(0)?;
        }
        Ok(reserve)
    }

    /// Returns the size in bytes.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the free bytes on its disk. `None` where the system does not report them.
    pub(super) fn free(&self) -> io::Result<Option<u64>> {
        allocate::free(&self.file)
    }

    /// Sets the size in bytes. Growing allocates the blocks.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the file system cannot allocate in advance. The size does not change
    /// then.
    pub(super) fn resize(&mut self, size: u64) -> io::Result<()> {
        if size < self.size {
            return self.shrink(size);
        }
        if size > self.size {
            if let Err(error) = allocate::extend(&self.file, self.size, size) {
                // A part of it may have been allocated.
                self.file.set_len(self.size)?;
                return Err(error);
            }
            self.size = size;
        }
        Ok(())
    }

    fn shrink(&mut self, size: u64) -> io::Result<()> {
        self.file.set_len(size)?;
        self.size = size;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    fn blocks(directory: &Path) -> u64 {
        allocate::allocated(&std::fs::metadata(directory.join(NAME)).unwrap())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn growing_allocates_blocks_and_shrinking_frees_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::open(directory.path()).unwrap();
        reserve.resize(4 << 20).unwrap();
        assert!(blocks(directory.path()) >= 4 << 20);
        reserve.resize(1 << 20).unwrap();
        let kept = blocks(directory.path());
        assert!((1 << 20..2 << 20).contains(&kept), "{kept}");
        drop(reserve);
        assert_eq!(Reserve::open(directory.path()).unwrap().size(), 1 << 20);
    }

    #[cfg(unix)]
    #[test]
    fn a_sparse_copy_is_opened_empty() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create(directory.path().join(NAME)).unwrap();
        file.set_len(4 << 20).unwrap();
        assert_eq!(Reserve::open(directory.path()).unwrap().size(), 0);
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn free_bytes_of_the_disk_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::open(directory.path()).unwrap();
        assert!(reserve.free().unwrap().is_some());
    }
}
