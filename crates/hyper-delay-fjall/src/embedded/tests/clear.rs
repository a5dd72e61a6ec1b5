//! Clearing a space is no loss, even if a crash interrupts it.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use super::fixture::{ClosedStore, StoreCopy, batch};
use crate::{
    CommitMarker, Embedded,
    commit_record::{CommitFile, CommitFileState},
    journal_file::JournalFile,
};
use hyper_delay_store::{Batch, Durability, ReadStore as _, Space, Store};

const SPACE: Space = Space::DoneOdd;

fn remember(store: &Embedded, name: &[u8]) {
    let mut batch = Batch::new();
    batch.put(SPACE, name, *b"done");
    batch.put(Space::Meta, *b"memory", name);
    store.commit(batch, Durability::Synced).unwrap();
}

fn remembers(store: &Embedded, name: &[u8]) -> bool {
    store.get(SPACE, name).unwrap().is_some()
}

/// Opens the store, writes to the space and to others, and opens it again.
fn works(copy: &StoreCopy) {
    for round in 0..3_u8 {
        let store = copy.open().unwrap();
        remember(&store, &[b'x', round]);
        assert!(remembers(&store, &[b'x', round]));
    }
    let store = copy.open().unwrap();
    assert!((0..3).all(|round| remembers(&store, &[b'x', round])));
}

/// Returns a store with names of the space in its tables and in the journal.
fn store(is_flushed: bool) -> (StoreCopy, Embedded) {
    let copy = ClosedStore::of(3, 40).copy();
    let store = copy.open().unwrap();
    remember(&store, b"1");
    remember(&store, b"2");
    if is_flushed {
        store.space(SPACE).rotate_memtable_and_wait().unwrap();
    }
    remember(&store, b"3");
    (copy, store)
}

#[test]
fn crash_after_the_record_and_before_the_clear_is_no_loss() {
    for is_flushed in [false, true] {
        let (copy, store) = store(is_flushed);
        store.commits().record_clear(SPACE, || Ok(())).unwrap();
        let killed = StoreCopy::of(copy.root());
        assert!(remembers(&killed.open().unwrap(), b"1"));
        works(&killed);
    }
}

#[test]
fn crash_after_the_clear_is_no_loss() {
    for is_flushed in [false, true] {
        let (copy, store) = store(is_flushed);
        store.clear(SPACE).unwrap();
        let killed = StoreCopy::of(copy.root());
        assert!(!remembers(&killed.open().unwrap(), b"1"));
        works(&killed);
        remember(&store, b"4");
        let killed = StoreCopy::of(copy.root());
        assert!(remembers(&killed.open().unwrap(), b"4"));
        works(&killed);
    }
}

#[test]
fn crash_after_a_clear_without_the_older_journals_is_no_loss() {
    let (copy, store) = store(false);
    store.flush_all();
    remember(&store, b"4");
    store.clear(SPACE).unwrap();
    let killed = StoreCopy::of(copy.root());
    // The library deletes a journal once all its batches are in tables.
    let journal = JournalFile::read(&killed.path("store/0.jnl")).unwrap();
    let batches: Vec<_> = journal.batches().map(Result::unwrap).collect();
    let [.., last, clear] = &batches[..] else {
        panic!("{batches:?}");
    };
    assert!(!clear.clears.is_empty());
    let bytes = &journal.written()[last.range.start..];
    killed.write_journal(0, bytes, 0);
    works(&killed);
}

#[test]
fn clear_that_a_power_failure_removed_from_the_journal_is_no_loss() {
    for is_flushed in [false, true] {
        let (copy, store) = store(is_flushed);
        store.clear(SPACE).unwrap();
        let killed = StoreCopy::of(copy.root());
        let journal = JournalFile::read(&killed.path("store/0.jnl")).unwrap();
        let clear = journal.batches().map(Result::unwrap).last().unwrap();
        assert!(!clear.clears.is_empty());
        let bytes = &journal.written()[..clear.range.start];
        killed.write_journal(0, bytes, 0);
        works(&killed);
    }
}

#[test]
fn loss_of_names_written_after_a_clear_is_refused() {
    for is_flushed in [false, true] {
        let (copy, store) = store(is_flushed);
        store.clear(SPACE).unwrap();
        remember(&store, b"4");
        store.commit(batch(5, 40), Durability::Synced).unwrap();
        drop(store);
        let journal = JournalFile::read(&copy.path("store/0.jnl")).unwrap();
        let batches: Vec<_> = journal.batches().map(Result::unwrap).collect();
        let [.., lost, last] = &batches[..] else {
            panic!("{batches:?}");
        };
        let mut bytes = journal.written()[..lost.range.start].to_vec();
        bytes.extend(&journal.written()[last.range.clone()]);
        copy.write_journal(0, &bytes, 0);
        let message = copy.open().unwrap_err().to_string();
        assert!(
            message.contains("space done-odd ends at commit 0"),
            "{message}"
        );
    }
}

#[test]
fn cleared_twice_between_two_starts_is_no_loss() {
    let (copy, store) = store(true);
    for round in 0..2_u8 {
        store.clear(SPACE).unwrap();
        remember(&store, &[b'a', round]);
        store.space(SPACE).rotate_memtable_and_wait().unwrap();
        remember(&store, &[b'b', round]);
    }
    drop(store);
    let store = copy.open().unwrap();
    assert!(remembers(&store, b"a\x01") && remembers(&store, b"b\x01"));
    assert!(!remembers(&store, b"a\x00"));
    drop(store);
    works(&copy);
}

#[test]
fn record_and_space_agree_after_a_commit_beside_a_clear() {
    let (copy, store) = store(false);
    for round in 0..300_u32 {
        thread::scope(|scope| {
            scope.spawn(|| store.clear(SPACE).unwrap());
            // The commit comes before the clear, meanwhile or after it.
            let begun = Instant::now();
            let delay = Duration::from_micros(u64::from(round));
            while begun.elapsed() < delay {
                hint::spin_loop();
            }
            remember(&store, &round.to_be_bytes());
        });
        let CommitFileState::Read(record) = CommitFile::read(copy.root()).unwrap() else {
            panic!("the record is not readable");
        };
        let marker = store.space(SPACE).get(CommitMarker::KEY).unwrap();
        let last = marker.map_or(0, |marker| CommitMarker::decode(&marker).unwrap().commit);
        assert_eq!(last, record.space(SPACE).last, "in round {round}");
    }
    drop(store);
    works(&copy);
}
