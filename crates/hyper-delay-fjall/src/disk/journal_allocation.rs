//! Allocates the journal blocks of the next batch in advance.

use std::{
    fs::{File, OpenOptions},
    io,
    path::PathBuf,
};

use crate::journal_file;

/// Allocated blocks of the newest journal after its written part.
///
/// The library makes journals sparse and stops working when a write into one fails. If allocating
/// in advance fails, the committer can wait instead. Allocating changes neither the size nor the
/// bytes of the file.
#[derive(Debug)]
pub(super) struct JournalAllocation {
    store: PathBuf,
    journal: Option<AllocatedJournal>,
}

#[derive(Debug)]
struct AllocatedJournal {
    path: PathBuf,
    file: File,
    /// An upper bound of the end of the written bytes.
    written: u64,
    /// The end of the allocated blocks.
    allocated: u64,
}

impl JournalAllocation {
    /// Watches the journals of the store in this folder.
    pub(super) const fn new(store: PathBuf) -> Self {
        Self {
            store,
            journal: None,
        }
    }

    /// Allocates blocks for the next `bytes` bytes of the newest journal, unless it has them.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the file system cannot allocate in advance.
    pub(super) fn ensure(&mut self, bytes: u64) -> io::Result<()> {
        let Some(journal) = self.newest()? else {
            return Ok(());
        };
        let end = journal.written + bytes;
        if end > journal.allocated {
            super::allocate::allocate_beyond_end(&journal.file, journal.allocated, end)?;
            journal.allocated = end;
        }
        Ok(())
    }

    /// Records that at most `bytes` bytes were written.
    pub(super) fn record_write(&mut self, bytes: u64) {
        if let Some(journal) = &mut self.journal {
            journal.written += bytes;
        }
    }

    fn newest(&mut self) -> io::Result<Option<&mut AllocatedJournal>> {
        let Some(path) = journal_file::JournalFile::list(&self.store)?.pop() else {
            return Ok(None);
        };
        if self.journal.as_ref().is_none_or(|known| known.path != path) {
            let file = OpenOptions::new().write(true).open(&path)?;
            let written = super::allocate::allocated(&file.metadata()?);
            self.journal = Some(AllocatedJournal {
                path,
                file,
                written,
                allocated: written,
            });
        }
        Ok(self.journal.as_mut())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::allocate::allocated;

    #[test]
    fn blocks_are_allocated_in_the_newest_journal_without_changing_its_size() {
        let store = tempfile::tempdir().unwrap();
        for (name, size) in [("9.jnl", 0), ("10.jnl", 10_000), ("11.other", 0)] {
            fs::write(store.path().join(name), vec![7; size]).unwrap();
        }
        let metadata = |name| fs::metadata(store.path().join(name)).unwrap();
        let mut allocation = JournalAllocation::new(store.path().to_owned());
        allocation.ensure(1 << 20).unwrap();
        let before = allocated(&metadata("10.jnl"));
        assert!(before >= 1 << 20);
        allocation.ensure(1 << 20).unwrap();
        assert_eq!(allocated(&metadata("10.jnl")), before);
        allocation.record_write(1 << 19);
        allocation.ensure(1 << 20).unwrap();
        assert!(allocated(&metadata("10.jnl")) >= before + (1 << 19));
        assert_eq!(metadata("10.jnl").len(), 10_000);
        assert_eq!(allocated(&metadata("9.jnl")), 0);
        assert_eq!(
            fs::read(store.path().join("10.jnl")).unwrap(),
            vec![7; 10_000]
        );

        fs::write(store.path().join("12.jnl"), "").unwrap();
        allocation.ensure(1 << 16).unwrap();
        assert_eq!(allocated(&metadata("12.jnl")), 1 << 16);
    }
}
