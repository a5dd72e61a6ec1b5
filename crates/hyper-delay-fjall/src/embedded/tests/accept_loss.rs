//! Accepted losses: the store is marked for mending, and restored if the opening fails.

use std::fs;

use super::fixture::{ClosedStore, StoreCopy, batch, key};
use crate::{Embedded, journal_file::JournalFile};
use hyper_delay_store::{Batch, Durability, ReadStore as _, Space, Store as _, record};

fn is_marked(store: &Embedded) -> bool {
    let mark = store.get(Space::Meta, record::key::MENDING).unwrap();
    mark.is_some()
}

/// Returns a store whose journal was deleted.
fn without_journal() -> StoreCopy {
    let copy = ClosedStore::of(3, 40).copy();
    fs::remove_file(copy.path("store/0.jnl")).unwrap();
    copy
}

#[test]
fn accepted_loss_marks_the_store_until_it_is_mended() {
    let copy = without_journal();
    assert!(is_marked(&copy.accept_loss().unwrap()));
    assert!(is_marked(&copy.open().unwrap()));
}

#[test]
fn store_without_a_loss_is_not_marked() {
    let copy = ClosedStore::of(3, 40).copy();
    assert!(!is_marked(&copy.open().unwrap()));
    assert!(!is_marked(&copy.accept_loss().unwrap()));
}

#[test]
fn loss_is_refused_until_the_mark_is_recorded() {
    let copy = without_journal();
    let record = fs::read(copy.path("commits")).unwrap();
    drop(copy.accept_loss().unwrap());
    // The process was killed after the mark was written and before the new record was.
    fs::write(copy.path("commits"), record).unwrap();
    drop(copy.refused());
    assert!(is_marked(&copy.accept_loss().unwrap()));
    assert!(is_marked(&copy.open().unwrap()));
}

/// Without a journal the library forgets the sequence numbers of the tables.
#[test]
fn writes_after_all_journals_were_lost_are_newer_than_the_tables() {
    for is_in_tables in [false, true] {
        let closed = ClosedStore::of(30, 40);
        let copy = closed.copy();
        let store = copy.open().unwrap();
        store.flush_all();
        if !is_in_tables {
            store.commit(batch(31, 40), Durability::Synced).unwrap();
        }
        drop(store);
        for journal in JournalFile::list(&copy.path("store")).unwrap() {
            fs::remove_file(journal).unwrap();
        }
        if !is_in_tables {
            drop(copy.refused());
            drop(copy.accept_loss().unwrap());
        }
        let mut newer = Batch::new();
        newer.put(Space::Names, key(1, 0), *b"newer");
        copy.open()
            .unwrap()
            .commit(newer, Durability::Synced)
            .unwrap();
        let store = copy.open().unwrap();
        let value = store.get(Space::Names, &key(1, 0)).unwrap();
        assert_eq!(value.as_deref(), Some(&b"newer"[..]));
    }
}

/// Lets the opening fail at its last step, and checks that the folder is as before.
fn fails_and_restores(copy: &StoreCopy, folder: &str) {
    let before = copy.files();
    fs::create_dir(copy.path("commits.new")).unwrap();
    copy.accept_loss().unwrap_err();
    let after = copy.files();
    let inside = |name: &&String| name.starts_with(folder);
    assert!(before.keys().any(|name| inside(&name)));
    for name in before.keys().filter(inside) {
        assert_eq!(after.get(name), before.get(name), "{name}");
    }
    fs::remove_dir(copy.path("commits.new")).unwrap();
    assert!(is_marked(&copy.accept_loss().unwrap()));
}

#[test]
fn moved_folders_are_restored_if_the_opening_fails() {
    let closed = ClosedStore::of(3, 40);
    let copy = closed.copy();
    fs::remove_file(copy.path("store/keyspaces/3/current")).unwrap();
    fails_and_restores(&copy, "store/keyspaces/3/");
    let copy = closed.copy();
    fs::remove_dir_all(copy.path("store/keyspaces")).unwrap();
    fails_and_restores(&copy, "store/");
}
