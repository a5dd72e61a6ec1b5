//! A store is mended after an accepted loss, and the tools judge the result.

use std::{fs, sync::Arc};

use super::stopped_store::{Directory, Tasks};
use crate::{
    ledger::Ledger,
    store::{Embedded, OpenOptions, Space},
};

/// Accepts the loss, mends the store and returns its tasks.
fn accept(directory: &Directory) -> Tasks {
    let options = OpenOptions { accept_loss: true };
    let store = Arc::new(Embedded::open_with(directory.path(), options).unwrap());
    drop(Ledger::open(store.clone(), 1_000).unwrap());
    drop(store);
    directory.export()
}

#[test]
fn store_without_journals_is_whole_after_the_loss_is_accepted() {
    let directory = Directory::new(false).without_journals();
    let (_, saved) = directory.copy().repair();
    assert!(!saved.is_empty());
    assert_eq!(accept(&directory), saved);
    assert_eq!(directory.verify(), Vec::<String>::new());
}

#[test]
fn store_without_a_space_has_the_tasks_that_a_repair_saves() {
    for space in [Space::Names, Space::Waiting, Space::Parked, Space::Dead] {
        let directory = Directory::new(true).without_journals();
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
    }
}

#[test]
fn damaged_block_of_contents_does_not_stop_the_mending() {
    let whole = Directory::new(true).without_journals();
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
