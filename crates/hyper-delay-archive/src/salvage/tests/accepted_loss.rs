//! A store is mended after an accepted loss, and the tools judge the result.

use std::{collections::BTreeSet, fs, ops::ControlFlow, sync::Arc};

use super::fixture::{ExpectedTasks, TestDirectory, assert_consistent};
use hyper_delay_engine::{ledger::Ledger, sizes::Sizes};
use hyper_delay_fjall::{Embedded, OpenOptions};
use hyper_delay_store::{
    ReadStore as _, Space,
    record::{self, Name, key},
};

/// Accepts the loss, mends the store and returns its tasks.
fn accept(directory: &TestDirectory) -> ExpectedTasks {
    let options = OpenOptions {
        accept_loss: true,
        ..OpenOptions::default()
    };
    let store = Arc::new(Embedded::open_with(directory.path(), options).unwrap());
    drop(Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap());
    drop(store);
    let tasks = directory.export();
    assert_eq!(index(directory), expiring(directory));
    tasks
}

/// The keys of the index of expiry.
fn index(directory: &TestDirectory) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let store = Embedded::open(directory.path()).unwrap();
    let mut visit = |key: &[u8], _: &[u8]| {
        if key.starts_with(key::EXPIRY) {
            keys.insert(key.to_vec());
        }
        ControlFlow::Continue(())
    };
    store.scan(Space::Meta, &[], &mut visit).unwrap();
    keys
}

/// The keys that the index must have according to the names.
fn expiring(directory: &TestDirectory) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let store = Embedded::open(directory.path()).unwrap();
    let mut visit = |_: &[u8], value: &[u8]| {
        keys.extend(record::decode::<Name>(value).unwrap().expiry_key());
        ControlFlow::Continue(())
    };
    store.scan(Space::Names, &[], &mut visit).unwrap();
    assert!(!keys.is_empty());
    keys
}

#[test]
fn store_without_journals_is_whole_after_the_loss_is_accepted() {
    let directory = TestDirectory::new(false).without_journals();
    let (_, saved) = directory.copy().repair();
    assert!(!saved.is_empty());
    assert_eq!(accept(&directory), saved);
    assert_eq!(directory.verify(), Vec::<String>::new());
    assert_consistent(directory.path());
}

#[test]
fn store_without_a_space_has_the_tasks_that_a_repair_saves() {
    for space in [Space::Names, Space::Waiting, Space::Parked, Space::Dead] {
        let directory = TestDirectory::new(true).without_journals();
        let whole = directory.export();
        let current = format!("store/keyspaces/{}/current", space as usize + 1);
        fs::remove_file(directory.path().join(current)).unwrap();
        let tasks = accept(&directory);
        // Only the name of a dead letter has no reason.
        if space != Space::Dead {
            assert_eq!(tasks, whole, "{space:?}");
        }
        assert_eq!(tasks.len(), whole.len(), "{space:?}");
        assert_eq!(directory.verify(), Vec::<String>::new(), "{space:?}");
        assert_consistent(directory.path());
    }
}

#[test]
fn damaged_block_of_contents_does_not_stop_the_mending() {
    let whole = TestDirectory::new(true).without_journals();
    for at in [100, 20_000] {
        let directory = whole.copy();
        fs::remove_file(directory.path().join("commits")).unwrap();
        let table = &directory.tables(Space::Tasks)[0];
        let mut bytes = fs::read(table).unwrap();
        bytes[at] ^= 4;
        fs::write(table, bytes).unwrap();
        let (repaired, saved) = directory.copy().repair();
        assert_ne!(repaired.lost, 0);
        assert_eq!(accept(&directory), saved);
    }
}
