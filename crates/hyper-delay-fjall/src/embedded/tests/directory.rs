//! Directories of another process, and of older and newer versions.

use std::{path::Path, process::Command};

use super::fixture::{ClosedStore, batch, found, in_memory};
use crate::{
    Embedded,
    embedded::{create_spaces, memory_budget::MemoryBudget, open_spaces},
};
use hyper_delay_store::{Durability, Store};

#[test]
fn directory_of_another_process_is_refused() {
    const VARIABLE: &str = "HYPER_DELAY_TEST_DIRECTORY";
    if let Some(directory) = std::env::var_os(VARIABLE) {
        let error = Embedded::open(Path::new(&directory)).unwrap_err();
        println!("refused: {error}");
        return;
    }
    let directory = in_memory();
    let _store = Embedded::open(directory.path()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "directory_of_another_process_is_refused"])
        .env(VARIABLE, directory.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&output.stdout);
    let wanted = format!(
        "data_dir {}: another process uses it",
        directory.path().display()
    );
    assert!(output.contains(&wanted), "{output}");
}

#[test]
fn file_as_directory_is_refused() {
    let directory = in_memory();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [&file, &file.join("below")] {
        let error = Embedded::open(path).unwrap_err().to_string();
        let wanted = format!("{} is a file, or is below one: set another", path.display());
        assert!(error.contains(&wanted), "{error}");
    }
}

/// Writes a store without a commit record, as older versions did.
fn write_older_version(directory: &Path, batches: usize) {
    let store = directory.join("store");
    create_spaces(&store, MemoryBudget::shared_by(1)).unwrap();
    let (database, spaces) = open_spaces(&store, MemoryBudget::shared_by(1)).unwrap();
    for number in 1..=batches {
        let mut writes = database.batch();
        for (space, key, value) in batch(number, 40).into_writes() {
            match value {
                Some(value) => writes.insert(&spaces[space as usize], key, value),
                None => writes.remove(&spaces[space as usize], key),
            }
        }
        writes.commit().unwrap();
    }
}

#[test]
fn store_of_an_older_version_gets_a_record() {
    let directory = in_memory();
    write_older_version(directory.path(), 3);
    for batches in 3..6 {
        let store = Embedded::open(directory.path()).unwrap();
        let all: Vec<usize> = (1..=batches).collect();
        assert_eq!(found(&store, batches, 40), all);
        let next = batch(batches + 1, 40);
        store.commit(next, Durability::Synced).unwrap();
    }
    std::fs::remove_file(directory.path().join("commits")).unwrap();
    let error = Embedded::open(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("the file commits beside the store) is missing"),
        "{error}"
    );
}

#[test]
fn store_of_an_older_version_with_damage_in_the_middle_is_refused() {
    let directory = in_memory();
    write_older_version(directory.path(), 3);
    let journal = directory.path().join("store/0.jnl");
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let error = Embedded::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("and 2 readable batches follow"), "{error}");
}

#[test]
fn record_and_store_deleted_together_make_a_new_store() {
    let closed = ClosedStore::of(3, 40);
    let copy = closed.copy();
    std::fs::remove_dir_all(copy.path("store")).unwrap();
    std::fs::remove_file(copy.path("commits")).unwrap();
    let store = copy.open().unwrap();
    assert!(closed.found(&store).is_empty());
    store.commit(batch(1, 40), Durability::Synced).unwrap();
    drop(store);
    assert_eq!(found(&copy.open().unwrap(), 1, 40), [1]);
}
