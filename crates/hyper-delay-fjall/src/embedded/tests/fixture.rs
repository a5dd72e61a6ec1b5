//! A closed store, and copies of it that tests damage.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{Embedded, OpenOptions, journal_file::JournalFile};
use hyper_delay_store::{Batch, Durability, ReadStore as _, Space, Store, StoreError};

pub(super) fn key(batch: usize, place: u8) -> Vec<u8> {
    format!("batch {batch} key {place}").into_bytes()
}

/// Returns a batch for two spaces, with a removal and a value of `size` bytes.
pub(super) fn batch(number: usize, size: usize) -> Batch {
    let mut batch = Batch::new();
    batch.count_schedule();
    batch.count_removal();
    batch.put(Space::Names, key(number, 0), vec![7; size]);
    batch.put(Space::Waiting, key(number, 1), *b"at its time");
    batch.remove(Space::Names, key(number - 1, 2));
    batch.put(Space::Names, key(number, 2), *b"until the next");
    batch
}

/// Returns the batches that a store has. Each must be complete or absent.
pub(super) fn found(store: &Embedded, batches: usize, size: usize) -> Vec<usize> {
    let get = |space, number, place| store.get(space, &key(number, place)).unwrap();
    let there: Vec<usize> = (1..=batches)
        .filter(|number| {
            let value = get(Space::Names, *number, 0);
            let entry = get(Space::Waiting, *number, 1);
            assert_eq!(value.is_some(), entry.is_some(), "half of batch {number}");
            assert!(value.iter().all(|value| **value == *vec![7; size]));
            value.is_some()
        })
        .collect();
    for number in 1..=batches {
        // The last batch has a key that the next one removes.
        let is_last = there.last() == Some(&number);
        assert_eq!(get(Space::Names, number, 2).is_some(), is_last);
    }
    there
}

/// A store that was closed after some batches.
pub(super) struct ClosedStore {
    directory: TempDir,
    /// The written bytes of the journal.
    pub(super) bytes: Vec<u8>,
    /// The position of each batch in the journal.
    pub(super) starts: Vec<usize>,
    /// The commit record before all batches, and after each.
    records: Vec<Vec<u8>>,
    pub(super) batches: usize,
    pub(super) size: usize,
}

impl ClosedStore {
    pub(super) fn of(batches: usize, size: usize) -> Self {
        let directory = in_memory();
        let store = Embedded::open(directory.path()).unwrap();
        let record = || fs::read(directory.path().join("commits")).unwrap();
        let mut records = vec![record()];
        for number in 1..=batches {
            store
                .commit(batch(number, size), Durability::Synced)
                .unwrap();
            records.push(record());
        }
        drop(store);
        Self {
            records,
            ..Self::of_directory(StoreCopy(directory), batches, size)
        }
    }

    /// Wraps a directory with a closed store.
    pub(super) fn of_directory(directory: StoreCopy, batches: usize, size: usize) -> Self {
        let journal = JournalFile::read(&directory.path("store/0.jnl")).unwrap();
        Self {
            starts: journal
                .batches()
                .map(|batch| batch.unwrap().range.start)
                .collect(),
            bytes: journal.written().to_vec(),
            directory: directory.0,
            records: Vec::new(),
            batches,
            size,
        }
    }

    /// Returns the range of the last batch in the journal.
    pub(super) fn last(&self) -> std::ops::Range<usize> {
        *self.starts.last().unwrap()..self.bytes.len()
    }

    pub(super) fn copy(&self) -> StoreCopy {
        StoreCopy::of(self.directory.path())
    }

    /// Returns a copy with `bytes` and then `zeros` zeros in its journal, and with the commit
    /// record after `recorded` batches.
    pub(super) fn with_journal(&self, bytes: &[u8], zeros: u64, recorded: usize) -> StoreCopy {
        let copy = self.copy();
        copy.write_journal(0, bytes, zeros);
        fs::write(copy.path("commits"), &self.records[recorded]).unwrap();
        copy
    }

    pub(super) fn all(&self) -> Vec<usize> {
        (1..=self.batches).collect()
    }

    pub(super) fn found(&self, store: &Embedded) -> Vec<usize> {
        found(store, self.batches, self.size)
    }
}

/// A data directory that a test damages and opens.
pub(super) struct StoreCopy(TempDir);

impl StoreCopy {
    /// Copies a data directory. The copy of an open one looks as if its process was killed.
    pub(super) fn of(directory: &Path) -> Self {
        let copy = in_memory();
        walk(directory, &mut |path| {
            let to = copy.path().join(path.strip_prefix(directory).unwrap());
            if path.is_dir() {
                fs::create_dir_all(to).unwrap();
            } else if path.extension().is_some_and(|extension| extension == "jnl") {
                let journal = JournalFile::read(path).unwrap();
                fs::write(to, journal.written()).unwrap();
            } else {
                fs::copy(path, to).unwrap();
            }
        });
        Self(copy)
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    pub(super) fn write_journal(&self, id: u64, bytes: &[u8], zeros: u64) {
        let path = self.path(&format!("store/{id}.jnl"));
        fs::write(&path, bytes).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(bytes.len() as u64 + zeros).unwrap();
    }

    pub(super) fn flip(&self, inside: &str, at: usize, bit: usize) {
        let path = self.path(inside);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1 << bit;
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn open(&self) -> Result<Embedded, StoreError> {
        Embedded::open(self.root())
    }

    pub(super) fn accept_loss(&self) -> Result<Embedded, StoreError> {
        Embedded::open_with(
            self.root(),
            OpenOptions {
                accept_loss: true,
                ..OpenOptions::default()
            },
        )
    }

    /// Asserts that opening is refused and changes nothing, and returns the message.
    pub(super) fn refused(&self) -> String {
        let before = self.files();
        let error = self.open().unwrap_err();
        assert!(error.is_damage(), "{error}");
        let message = error.to_string();
        let after = self.files();
        for (name, content) in &before {
            // Opening may delete lists of tables that `current` does not name.
            let is_old_list = name.contains("/v") && !after.contains_key(name);
            let is_same = after.get(name) == Some(content);
            assert!(is_same || is_old_list, "{name} was changed: {message}");
        }
        assert!(after.len() <= before.len(), "{message}");
        message
    }

    /// Returns the content of each file by its path.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        walk(self.root(), &mut |path| {
            let name = path.strip_prefix(self.root()).unwrap();
            let name = name.to_str().unwrap().to_owned();
            if path.is_file() && name != "lock" && name != "store/lock" {
                files.insert(name, fs::read(path).unwrap());
            }
        });
        files
    }

    /// Returns the folders in the data directory whose names start with `prefix`.
    pub(super) fn quarantines(&self, prefix: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root()).unwrap();
        let entries = entries.map(|entry| entry.unwrap());
        entries
            .filter(|entry| entry.file_name().to_str().unwrap().starts_with(prefix))
            .map(|entry| entry.path())
            .collect()
    }
}

/// Returns a directory in memory, where syncs cost nothing, if there is one.
pub(super) fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Visits all files and folders, each folder before its contents.
fn walk(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        visit(&path);
        if path.is_dir() {
            walk(&path, visit);
        }
    }
}
