//! What is left of a journal that was cut or damaged, and directories that are not to be opened.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::*;
use crate::{ledger::Ledger, record};

/// All that these tests write fits into it.
const SCAN: usize = 64 << 10;

/// A store that was closed in order after so many batches, and the journal as it was after each.
struct Journal {
    directory: TempDir,
    /// Of its file, inside the directory.
    file: PathBuf,
    bytes: Vec<u8>,
    /// Where each batch begins.
    starts: Vec<usize>,
}

fn key(batch: usize, place: u8) -> Vec<u8> {
    format!("batch {batch} key {place}").into_bytes()
}

/// A batch is over two spaces, with a removal and a value of `size` bytes.
fn batch(number: usize, size: usize) -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Names, key(number, 0), vec![7; size]);
    batch.put(Space::Waiting, key(number, 1), *b"at its time");
    batch.remove(Space::Names, key(number - 1, 2));
    batch.put(Space::Names, key(number, 2), *b"until the next");
    batch
}

impl Journal {
    fn of(batches: usize, size: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Embedded::open(directory.path()).unwrap();
        let file = journal(directory.path());
        let mut bytes = written(&file);
        let mut starts = Vec::new();
        for number in 1..=batches {
            starts.push(bytes.len());
            store
                .commit(batch(number, size), Durability::Synced)
                .unwrap();
            bytes = written(&file);
        }
        drop(store);
        let file = file.strip_prefix(directory.path()).unwrap().to_owned();
        Self {
            file,
            bytes,
            starts,
            directory,
        }
    }

    /// Opens a copy whose journal has these bytes, and then so many zeros.
    fn open_with(&self, bytes: &[u8], zeros: u64) -> (TempDir, Result<Embedded, StoreError>) {
        let copy = in_memory();
        copy_all(self.directory.path(), copy.path(), &self.file);
        let mut file = fs::File::create(copy.path().join(&self.file)).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(bytes.len() as u64 + zeros).unwrap();
        let store = Embedded::open(copy.path());
        (copy, store)
    }

    fn last(&self) -> std::ops::Range<usize> {
        *self.starts.last().unwrap()..self.bytes.len()
    }
}

/// A directory for what is opened a thousand times: syncs cost nothing there.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// The newest journal of a store.
fn journal(directory: &Path) -> PathBuf {
    let mut found = Vec::new();
    walk(directory, &mut |path| {
        if path.extension().is_some_and(|extension| extension == "jnl") {
            found.push(path.to_owned());
        }
    });
    found.into_iter().max().unwrap()
}

fn walk(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}

/// The bytes of a journal up to the zeros that it was laid out with: a batch does not end with one.
fn written(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = fs::File::open(file).unwrap();
    file.take(SCAN as u64).read_to_end(&mut bytes).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes.truncate(end.map_or(0, |end| end + 1));
    assert!(bytes.len() < SCAN);
    bytes
}

fn copy_all(from: &Path, to: &Path, but: &Path) {
    walk(from, &mut |path| {
        let inside = path.strip_prefix(from).unwrap();
        let copy = to.join(inside);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        if inside != but {
            fs::copy(path, copy).unwrap();
        }
    });
}

/// Which batches a store has; each must be there whole or not at all.
fn found(store: &Embedded, batches: usize, size: usize) -> Vec<usize> {
    let has = |space, number, place| store.get(space, &key(number, place)).unwrap();
    let there: Vec<usize> = (1..=batches)
        .filter(|number| {
            let value = has(Space::Names, *number, 0);
            let entry = has(Space::Waiting, *number, 1);
            assert_eq!(value.is_some(), entry.is_some(), "half of batch {number}");
            assert!(value.iter().all(|value| **value == *vec![7; size]));
            value.is_some()
        })
        .collect();
    for number in 1..=batches {
        // The last one there has a key that the next one takes away.
        let is_last = there.last() == Some(&number);
        assert_eq!(has(Space::Names, number, 2).is_some(), is_last);
    }
    there
}

#[test]
fn a_journal_cut_at_any_byte_of_its_last_batch_has_all_batches_before_it() {
    let size = 40;
    let journal = Journal::of(3, size);
    for cut in journal.last() {
        for zeros in [0, 100, (64 << 20) - cut as u64] {
            let (_directory, store) = journal.open_with(&journal.bytes[..cut], zeros);
            let store = store.unwrap_or_else(|error| panic!("cut at {cut} + {zeros}: {error}"));
            assert_eq!(found(&store, 3, size), [1, 2], "cut at {cut} + {zeros}");
        }
    }
    let (_directory, store) = journal.open_with(&journal.bytes, 0);
    assert_eq!(found(&store.unwrap(), 3, size), [1, 2, 3]);
}

#[test]
fn what_is_written_after_a_cut_is_there_after_the_next_start() {
    let size = 40;
    let journal = Journal::of(3, size);
    for cut in journal.last().step_by(13) {
        for zeros in [0, 100_000] {
            let (directory, store) = journal.open_with(&journal.bytes[..cut], zeros);
            let store = store.unwrap();
            store.commit(batch(3, size), Durability::Synced).unwrap();
            store.commit(batch(4, size), Durability::Synced).unwrap();
            drop(store);
            let store = Embedded::open(directory.path()).unwrap();
            assert_eq!(found(&store, 4, size), [1, 2, 3, 4], "cut at {cut}");
        }
    }
}

/// When the power goes, the pages of a write may have reached the disk in any order. What is refused here was
/// never acknowledged; the server says so and does not guess.
#[test]
fn a_last_batch_with_its_end_and_without_its_middle_is_left_out_or_refused() {
    let size = 9_000;
    let journal = Journal::of(3, size);
    let last = journal.last();
    let mut refused = 0;
    for hole in last.clone().step_by(512) {
        let mut bytes = journal.bytes.clone();
        bytes[hole..last.end.min(hole + 512)].fill(0);
        let (_directory, store) = journal.open_with(&bytes, 1_000);
        match store {
            Ok(store) => assert_eq!(found(&store, 3, size), [1, 2], "hole at {hole}"),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("ChecksumMismatch"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

/// Its checksum does not cover its sequence number, nor lengths that are there twice: a damage there goes unseen,
/// and changes none of what was written.
#[test]
fn a_last_batch_that_is_damaged_is_refused_or_left_out_or_whole() {
    let size = 40;
    let journal = Journal::of(3, size);
    for damaged in journal.last() {
        let mut bytes = journal.bytes.clone();
        bytes[damaged] ^= 0x55;
        let (_directory, store) = journal.open_with(&bytes, 0);
        let Ok(store) = store else { continue };
        let get = |space, place| store.get(space, &key(3, place)).unwrap();
        if let Some(value) = get(Space::Names, 0) {
            assert_eq!(*value, *vec![7; size], "damaged at {damaged}");
            assert_eq!(*get(Space::Waiting, 1).unwrap(), *b"at its time");
            assert_eq!(*get(Space::Names, 2).unwrap(), *b"until the next");
        } else {
            assert_eq!(found(&store, 3, size), [1, 2], "damaged at {damaged}");
        }
    }
}

/// No crash does this.
#[test]
fn a_damage_before_the_last_batch_is_refused_or_takes_along_all_that_follows() {
    let size = 40;
    let journal = Journal::of(3, size);
    for damaged in journal.starts[1]..journal.starts[2] {
        let mut bytes = journal.bytes.clone();
        bytes[damaged] ^= 0x55;
        let (_directory, store) = journal.open_with(&bytes, 0);
        let Ok(store) = store else { continue };
        let has = |batch| store.get(Space::Names, &key(batch, 0)).unwrap().is_some();
        assert!(has(1) && has(2) == has(3), "damaged at {damaged}");
    }
}

#[test]
fn a_directory_that_another_process_has_is_refused() {
    const VARIABLE: &str = "HYPER_DELAY_TEST_DIRECTORY";
    if let Some(directory) = std::env::var_os(VARIABLE) {
        let error = Embedded::open(Path::new(&directory)).unwrap_err();
        println!("refused: {error}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let _store = Embedded::open(directory.path()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--nocapture",
            "a_directory_that_another_process_has_is_refused",
        ])
        .env(VARIABLE, directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wanted = format!(
        "data_dir {}: another process has it",
        directory.path().display()
    );
    assert!(said.contains(&wanted), "{said}");
}

#[test]
fn a_record_of_a_newer_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(directory.path()).unwrap();
    let mut newer = record::encode(&5_u64).to_vec();
    newer[0] += 1;
    let mut batch = Batch::new();
    batch.put(Space::Meta, *b"numbers", newer);
    store.commit(batch, Durability::Synced).unwrap();
    drop(store);
    let store = Embedded::open(directory.path()).unwrap();
    let error = Ledger::open(std::sync::Arc::new(store), 0).unwrap_err();
    let wanted = "it has version 2, and this server knows 1: start a newer one";
    assert!(error.to_string().contains(wanted), "{error}");
}
