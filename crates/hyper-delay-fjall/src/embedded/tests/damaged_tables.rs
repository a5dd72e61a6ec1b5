//! Tables that are damaged while the store is open, where only a compaction reads them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::fixture::{batch, in_memory};
use crate::{Embedded, fjall_error};
use hyper_delay_store::{Durability, Space, Store as _, StoreError};

const SIZE: usize = 20_000;

/// Writes a batch for each number, and a table of it.
fn write(store: &Embedded, numbers: std::ops::Range<usize>) -> Result<(), StoreError> {
    for number in numbers {
        store.commit(batch(number, SIZE), Durability::Synced)?;
        store.seal_all()?;
    }
    Ok(())
}

/// Flips a bit of the value in the middle of the first table of a space.
fn flip(store: &Embedded, space: Space) -> PathBuf {
    let tables = store.space(space).path().join("tables");
    let mut tables: Vec<PathBuf> = fs::read_dir(tables)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    tables.sort();
    flip_in(&tables[0]);
    tables.remove(0)
}

fn flip_in(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Returns the path of a directory from the working directory.
fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| "..");
    up.collect::<PathBuf>()
        .join(path.strip_prefix("/").unwrap())
}

#[test]
fn damage_that_a_compaction_meets_is_named_and_the_next_start_refuses() {
    let directory = in_memory();
    refuses_what_a_compaction_met(directory.path());
    // The default data_dir is relative, too.
    let directory = in_memory();
    refuses_what_a_compaction_met(&relative(directory.path()));
}

fn refuses_what_a_compaction_met(directory: &Path) {
    let store = Embedded::open(directory).unwrap();
    write(&store, 1..3).unwrap();
    store.flush_all();
    let table = flip(&store, Space::Names);
    let mut failed = None;
    for number in 3..200 {
        if let Err(error) = write(&store, number..number + 1) {
            failed = Some(error);
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let error = failed.expect("a compaction meets the damage");
    assert!(!error.is_damage(), "{error}");
    let error = store.diagnose(error);
    assert!(error.is_damage(), "{error}");
    let named = format!("{} (space names): the checksum", table.display());
    let text = error.to_string();
    assert!(
        text.contains(&named) && text.contains("`hyper-delay repair DIR"),
        "{text}"
    );
    assert!(!text.contains("disk"), "{text}");
    drop(store);
    for _ in 0..2 {
        let error = Embedded::open(directory).unwrap_err();
        assert!(error.to_string().contains(&named), "{error}");
        assert!(error.is_damage(), "{error}");
    }
    // It is whole again.
    flip_in(&table);
    let note = directory.join("damaged-tables");
    assert!(note.exists());
    drop(Embedded::open(directory).unwrap());
    assert!(!note.exists());
}

#[test]
fn background_writes_that_failed_for_another_reason_stay_a_matter_of_the_disk() {
    let directory = in_memory();
    let store = Embedded::open(directory.path()).unwrap();
    write(&store, 1..3).unwrap();
    store.flush_all();
    let poisoned = || fjall_error::to_store_error("write", fjall::Error::Poisoned);
    let error = store.diagnose(poisoned());
    assert_eq!(error.to_string(), poisoned().to_string());
    assert!(!directory.path().join("damaged-tables").exists());
    let full = || StoreError::new("write", "no room");
    flip(&store, Space::Names);
    assert_eq!(store.diagnose(full()).to_string(), full().to_string());
    assert!(store.diagnose(poisoned()).is_damage());
}

#[test]
fn a_note_about_what_is_gone_refuses_nothing() {
    let directory = in_memory();
    drop(Embedded::open(directory.path()).unwrap());
    let note = directory.path().join("damaged-tables");
    for text in [
        "keyspaces/3/tables/77\tnames\n",
        "../../etc/passwd\tnames\n/etc/passwd\t\n",
        "no line of it\n\n\t\n",
        "",
    ] {
        fs::write(&note, text).unwrap();
        drop(Embedded::open(directory.path()).unwrap());
        assert!(!note.exists(), "{text:?}");
    }
}
