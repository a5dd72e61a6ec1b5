//! Damage that no crash causes: the server refuses it, names the missing data, and can accept it.

use std::fs;

use super::fixture::{ClosedStore, StoreCopy, batch};
use hyper_delay_store::{Durability, ReadStore as _, Space, Store};

/// Accepts the loss, checks that some of the batches or none are left, and that the store works
/// from then on.
fn continues_with_loss(copy: &StoreCopy) {
    let store = copy.accept_loss().unwrap();
    store.commit(batch(9, 40), Durability::Synced).unwrap();
    drop(store);
    let store = copy.open().unwrap();
    let value = store.get(Space::Names, b"batch 9 key 0").unwrap();
    assert_eq!(value.unwrap().len(), 40);
}

/// A name, a damage to a store, and a part of the expected message.
type DamageCase = (&'static str, fn(&StoreCopy), &'static str);

#[test]
fn deleted_and_damaged_files_are_refused_and_their_loss_can_be_accepted() {
    let behind = "space names ends at commit 0, and the commit record says 3";
    let damages: [DamageCase; 9] = [
        (
            "journal emptied",
            |copy| copy.write_journal(0, &[], 0),
            behind,
        ),
        (
            "journal zeroed",
            |copy| copy.write_journal(0, &[], 64 << 20),
            behind,
        ),
        (
            "journal deleted",
            |copy| fs::remove_file(copy.path("store/0.jnl")).unwrap(),
            behind,
        ),
        (
            "store deleted",
            |copy| fs::remove_dir_all(copy.path("store")).unwrap(),
            "store: the folder is missing",
        ),
        (
            "store emptied",
            |copy| {
                fs::remove_dir_all(copy.path("store")).unwrap();
                fs::create_dir(copy.path("store")).unwrap();
            },
            "version: the file is missing",
        ),
        (
            "current of a space deleted",
            |copy| fs::remove_file(copy.path("store/keyspaces/3/current")).unwrap(),
            "keyspaces/3: space waiting: the file current is missing",
        ),
        (
            "folder of a space deleted",
            |copy| fs::remove_dir_all(copy.path("store/keyspaces/2")).unwrap(),
            "the folder of space names is missing",
        ),
        (
            "record deleted",
            |copy| fs::remove_file(copy.path("commits")).unwrap(),
            "the commit record (the file commits beside the store) is missing",
        ),
        (
            "both slots damaged",
            |copy| {
                copy.flip("commits", 50, 3);
                copy.flip("commits", 4096 + 50, 3);
            },
            "the commit record (the file commits beside the store) is damaged in both slots",
        ),
    ];
    let closed = ClosedStore::of(3, 40);
    for (name, damage, expected) in damages {
        let copy = closed.copy();
        damage(&copy);
        let message = copy.refused();
        assert!(message.contains(expected), "{name}: {message}");
        continues_with_loss(&copy);
    }
}

/// Without the list of spaces, the library would begin a new store although all tasks are left.
#[test]
fn lost_list_of_spaces_is_refused_and_only_repair_helps() {
    let damages: [DamageCase; 4] = [
        (
            "folder deleted",
            |copy| fs::remove_dir_all(copy.path("store/keyspaces/0")).unwrap(),
            "keyspaces/0: the file current is missing",
        ),
        (
            "current deleted",
            |copy| fs::remove_file(copy.path("store/keyspaces/0/current")).unwrap(),
            "keyspaces/0: the file current is missing",
        ),
        (
            "tables deleted",
            |copy| fs::remove_dir_all(copy.path("store/keyspaces/0/tables")).unwrap(),
            "keyspaces/0: ",
        ),
        (
            "version deleted",
            |copy| fs::remove_file(copy.path("store/version")).unwrap(),
            "version: the file is missing",
        ),
    ];
    let closed = ClosedStore::of(3, 40);
    for (name, damage, expected) in damages {
        let copy = closed.copy();
        damage(&copy);
        let message = copy.refused();
        assert!(message.contains(expected), "{name}: {message}");
        assert!(message.contains("only after a repair"), "{message}");
        let error = copy.accept_loss().unwrap_err().to_string();
        assert_eq!(error, message);
    }
}

#[test]
fn one_damaged_slot_of_the_record_costs_nothing() {
    let closed = ClosedStore::of(3, 40);
    for slot in [0, 4096] {
        let copy = closed.copy();
        copy.flip("commits", slot + 50, 3);
        assert_eq!(closed.found(&copy.open().unwrap()), closed.all());
    }
}

#[test]
fn any_flipped_bit_of_a_list_of_tables_is_refused() {
    let closed = ClosedStore::of(3, 40);
    let files = closed.copy().files();
    for folder in ["store/keyspaces/0/", "store/keyspaces/2/"] {
        let lists = files.iter().filter(|(name, _)| {
            let name = name.strip_prefix(folder);
            name.is_some_and(|name| name == "current" || name.starts_with('v'))
        });
        for (name, bytes) in lists {
            for at in (0..bytes.len()).step_by(17) {
                let copy = closed.copy();
                copy.flip(name, at, at % 8);
                // The last byte of `current` is the type of the checksum. There is only one type.
                if name.ends_with("current") && at == 24 {
                    continue;
                }
                drop(copy.refused());
            }
        }
    }
}

#[test]
fn flipped_bit_in_the_list_of_spaces_is_named_or_harmless() {
    let closed = ClosedStore::of(3, 40);
    let files = closed.copy().files();
    let is_table = |name: &&String| name.starts_with("store/keyspaces/0/tables/");
    let mut refused = 0;
    for table in files.keys().filter(is_table) {
        for at in (0..files[table].len()).step_by(97) {
            let copy = closed.copy();
            copy.flip(table, at, at % 8);
            match copy.open() {
                Ok(store) => assert_eq!(closed.found(&store), closed.all()),
                Err(error) => {
                    refused += 1;
                    assert!(error.is_damage(), "byte {at}: {error}");
                    let message = error.to_string();
                    assert!(message.contains("keyspaces/0: "), "byte {at}: {message}");
                }
            }
        }
    }
    assert_ne!(refused, 0);
}

/// Splits the journal into two files. The first one is sealed.
fn split(closed: &ClosedStore, batches: usize) -> StoreCopy {
    let copy = closed.copy();
    let (sealed, active) = closed.bytes.split_at(closed.starts[batches]);
    copy.write_journal(0, sealed, 1_000);
    copy.write_journal(1, active, 1_000);
    copy
}

#[test]
fn journals_are_read_as_one() {
    let closed = ClosedStore::of(4, 40);
    for batches in 1..4 {
        let copy = split(&closed, batches);
        let store = copy.open().unwrap();
        assert_eq!(closed.found(&store), closed.all());
    }
}

#[test]
fn older_journal_that_lost_batches_is_refused() {
    let closed = ClosedStore::of(5, 40);
    for kept in 0..3 {
        let copy = split(&closed, 3);
        copy.write_journal(0, &closed.bytes[..closed.starts[kept]], 1_000);
        let message = copy.refused();
        let gap = format!("space names lacks commits after {kept} up to 3");
        assert!(message.contains(&gap), "{message}");
        continues_with_loss(&copy);
    }
    let copy = split(&closed, 3);
    fs::remove_file(copy.path("store/0.jnl")).unwrap();
    let message = copy.refused();
    let gap = "space names lacks commits after 0 up to 3";
    assert!(message.contains(gap), "{message}");
}

#[test]
fn older_journal_with_a_flipped_bit_is_refused() {
    let closed = ClosedStore::of(4, 40);
    for at in (0..closed.starts[2]).step_by(11) {
        let copy = split(&closed, 2);
        copy.flip("store/0.jnl", at, at % 8);
        match copy.open() {
            // The changed sequence number keeps the order of the batches.
            Ok(store) => assert_eq!(closed.found(&store), closed.all(), "flip at {at}"),
            Err(_) => drop(copy.refused()),
        }
    }
}

/// Returns a store with its first three batches in tables and the next two in the journal.
fn flushed() -> ClosedStore {
    let closed = ClosedStore::of(3, 40);
    let store = closed.copy();
    let open = store.open().unwrap();
    for keyspace in &open.spaces {
        keyspace.rotate_memtable_and_wait().unwrap();
    }
    for number in 4..=5 {
        open.commit(batch(number, 40), Durability::Synced).unwrap();
    }
    drop(open);
    ClosedStore::of_directory(store, 5, 40)
}

#[test]
fn journal_whose_batches_are_in_tables_may_be_missing() {
    let closed = flushed();
    let copy = closed.copy();
    assert_eq!(closed.found(&copy.open().unwrap()), closed.all());
    let copy = closed.copy();
    copy.write_journal(0, &closed.bytes[closed.starts[3]..], 0);
    assert_eq!(closed.found(&copy.open().unwrap()), closed.all());
    let copy = closed.copy();
    copy.write_journal(0, &closed.bytes[closed.starts[4]..], 0);
    let message = copy.refused();
    assert!(
        message.contains("space names lacks commits after 3 up to 4"),
        "{message}"
    );
    let copy = closed.copy();
    copy.write_journal(0, &[], 0);
    let message = copy.refused();
    assert!(
        message.contains("space names ends at commit 3"),
        "{message}"
    );
}

#[test]
fn deleted_table_is_refused_and_only_repair_helps() {
    let closed = flushed();
    let copy = closed.copy();
    let tables = fs::read_dir(copy.path("store/keyspaces/2/tables")).unwrap();
    for table in tables {
        fs::remove_file(table.unwrap().path()).unwrap();
    }
    let message = copy.refused();
    assert!(message.contains("keyspaces/2"), "{message}");
    assert!(message.contains("space names"), "{message}");
    assert!(message.contains("only after a repair"), "{message}");
    let error = copy.accept_loss().unwrap_err().to_string();
    assert_eq!(error, message);
}

#[test]
fn table_that_was_cut_is_refused_as_damaged() {
    let closed = flushed();
    let files = closed.copy().files();
    let is_table = |name: &&String| name.contains("/tables/");
    let table = files.keys().find(is_table).unwrap();
    for length in (0..files[table].len()).step_by(7) {
        let copy = closed.copy();
        fs::write(copy.path(table), &files[table][..length]).unwrap();
        let error = copy.open().unwrap_err();
        assert!(error.is_damage(), "{length} bytes: {error}");
    }
}

#[test]
fn damaged_format_and_missing_lock_of_the_store_are_named() {
    let closed = ClosedStore::of(2, 10);
    let copy = closed.copy();
    copy.flip("store/version", 3, 0);
    let message = copy.refused();
    assert!(
        message.contains("store/version): the file does not name"),
        "{message}"
    );
    let copy = closed.copy();
    fs::remove_file(copy.path("store/lock")).unwrap();
    let message = copy.refused();
    assert!(
        message.contains("store/lock): the file is missing"),
        "{message}"
    );
    fs::write(copy.path("store/lock"), b"").unwrap();
    assert_eq!(closed.found(&copy.open().unwrap()), closed.all());
}

#[test]
fn first_batch_with_an_older_sequence_number_is_refused() {
    let closed = flushed();
    let copy = closed.copy();
    let mut bytes = closed.bytes[closed.starts[3]..].to_vec();
    // The library skips a batch whose sequence number is not newer than the tables.
    bytes[5..13].copy_from_slice(&1_u64.to_le_bytes());
    copy.write_journal(0, &bytes, 0);
    drop(copy.refused());
}

#[test]
fn reserve_is_opened_before_the_store() {
    let copy = ClosedStore::of(2, 10).copy();
    fs::remove_file(copy.path("commits")).unwrap();
    let reserve = fs::File::create(copy.path("reserve")).unwrap();
    reserve.set_len(4 << 20).unwrap();
    copy.open().unwrap_err();
    let left = reserve.metadata().unwrap().len();
    assert_eq!(left, 0, "a sparse reserve is emptied when it is opened");
}
