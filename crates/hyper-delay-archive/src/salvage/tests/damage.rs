//! The tools applied to damaged stores.

use std::{fs, path::Path};

use super::fixture::{ExpectedTasks, TestDirectory};
use crate::salvage::{repair::RepairSummary, table_reader::TableReader, verify};
use hyper_delay_fjall::journal_file::JournalFile;
use hyper_delay_store::{Space, record::key};

pub(super) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// Asserts that a repaired store has the tasks of the old one except for the lost ones.
#[track_caller]
pub(super) fn assert_saved(
    repaired: &RepairSummary,
    tasks: &ExpectedTasks,
    before: &ExpectedTasks,
) {
    for (name, task) in tasks {
        assert_eq!(Some(task), before.get(name), "{name:?}");
    }
    let missing = (before.len() - tasks.len()) as u64;
    assert_eq!(repaired.saved, tasks.len() as u64);
    assert_eq!(repaired.lost, missing, "{repaired:?}");
}

#[test]
fn a_flipped_bit_in_a_table_costs_at_most_the_contents_of_its_block() {
    let whole = TestDirectory::new(true).without_journals();
    let before = whole.export();
    for space in [
        Space::Tasks,
        Space::Names,
        Space::Waiting,
        Space::Parked,
        Space::Dead,
        Space::Counts,
        Space::Meta,
    ] {
        for table in 0..whole.tables(space).len() {
            let directory = whole.copy();
            let table = &directory.tables(space)[table];
            flip(table, 100);
            let findings = directory.verify();
            let place = table.to_str().unwrap();
            let is_named = |line: &String| line.contains(place) && line.contains(space.name());
            assert!(findings.iter().any(is_named), "{findings:#?}");
            let (repaired, tasks) = directory.repair();
            assert_saved(&repaired, &tasks, &before);
            assert_eq!(repaired.lost > 0, space == Space::Tasks, "{space:?}");
            assert!(repaired.lost < 60, "{space:?} {repaired:?}");
            assert_eq!(directory.export(), tasks);
        }
    }
}

#[test]
fn a_lost_content_is_listed_by_name() {
    let directory = TestDirectory::new(true).without_journals();
    flip(&directory.tables(Space::Tasks)[0], 100);
    let to = directory.path().join("repaired");
    let repaired = crate::salvage::repair(directory.path(), &to).unwrap();
    let list = fs::read_to_string(&repaired.list).unwrap();
    assert_eq!(list.lines().count() as u64, repaired.lost);
    let first: serde_json::Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    assert_eq!(first["route_key"], "north");
    assert!(
        first["reason"].as_str().unwrap().contains("content"),
        "{first}"
    );
}

#[test]
fn a_missing_table_of_names_costs_nothing() {
    let directory = TestDirectory::new(true).without_journals();
    let before = directory.export();
    for table in directory.tables(Space::Names) {
        fs::remove_file(table).unwrap();
    }
    assert_ne!(directory.verify(), [""; 0]);
    let (repaired, tasks) = directory.repair();
    assert_saved(&repaired, &tasks, &before);
    assert_eq!(repaired.lost, 0);
}

#[test]
fn a_missing_current_costs_no_task() {
    for space in [
        None,
        Some(Space::Tasks),
        Some(Space::Names),
        Some(Space::Waiting),
    ] {
        let directory = TestDirectory::new(false);
        let before = directory.export();
        let folder = space.map_or(0, |space| space as usize + 1);
        let current = directory
            .path()
            .join(format!("store/keyspaces/{folder}/current"));
        fs::remove_file(&current).unwrap();
        let findings = directory.verify();
        let names_it = |line: &String| line.contains(current.to_str().unwrap());
        assert!(findings.iter().any(names_it), "{findings:#?}");
        let (repaired, tasks) = directory.repair();
        assert_saved(&repaired, &tasks, &before);
        assert_eq!(repaired.lost, 0);
    }
}

#[test]
fn batches_after_damage_in_a_journal_are_saved() {
    let directory = TestDirectory::new(false);
    let before = directory.export();
    let path = &directory.journals()[0];
    let journal = JournalFile::read(path).unwrap();
    let starts: Vec<usize> = journal
        .batches()
        .map(|batch| batch.unwrap().range.start)
        .collect();
    // Only batches of the second half are lost, because the first half is in tables.
    for batch in [starts.len() * 3 / 4, starts.len() - 1] {
        let directory = directory.copy();
        flip(&directory.journals()[0], starts[batch] + 20);
        let findings = directory.verify();
        assert!(
            findings.iter().any(|line| line.contains(".jnl")),
            "{findings:#?}"
        );
        let (_, tasks) = directory.repair();
        // A lost batch leaves its tasks in their earlier state and loses the new ones.
        let lost = before
            .keys()
            .filter(|name| !tasks.contains_key(*name))
            .count();
        assert!(lost <= 10, "{lost}");
        let again = tasks
            .keys()
            .filter(|name| !before.contains_key(*name))
            .count();
        assert!(again <= 1, "{again}");
    }
}

#[test]
fn an_emptied_journal_is_found_by_the_record() {
    let directory = TestDirectory::new(false).without_journals();
    let findings = directory.verify();
    for space in [Space::Tasks, Space::Names, Space::Waiting] {
        let what = format!("space {} ends at commit", space.name());
        assert!(
            findings.iter().any(|line| line.starts_with(&what)),
            "{findings:#?}"
        );
    }
}

#[test]
fn an_unreadable_end_of_a_journal_is_damage_only_if_the_record_counts_more() {
    let directory = TestDirectory::new(false);
    let path = &directory.journals()[0];
    let written = JournalFile::read(path).unwrap().written().to_vec();
    let torn = &written[..40];
    fs::write(path, [&written[..], torn].concat()).unwrap();
    let findings = |directory: &TestDirectory| {
        let mut findings = Vec::new();
        let verified = verify(directory.path(), &mut |line| {
            findings.push(line.to_owned());
            Ok(())
        });
        (findings, verified.unwrap().notes)
    };
    let (found, notes) = findings(&directory);
    assert_eq!(found, [""; 0]);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("0.jnl: bytes "), "{notes:?}");

    fs::write(path, &written[..written.len() - 5]).unwrap();
    let (found, notes) = findings(&directory);
    assert!(
        found.iter().any(|line| line.contains("0.jnl: bytes ")),
        "{found:?}"
    );
    assert_eq!(notes, [""; 0]);
}

/// A block of a table with one put.
fn forged_block(key: &[u8], value: &[u8]) -> Vec<u8> {
    let size = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
    let item = [&[0, 1, size(key)], key, &[size(value)], value].concat();
    let mut trailer = [0; 31];
    (trailer[0], trailer[27]) = (1, 1);
    let data = [&item[..], &trailer].concat();
    let length = u32::try_from(data.len()).unwrap().to_le_bytes();
    let sum = xxhash_rust::xxh3::xxh3_128(&data).to_le_bytes();
    let header = [&b"LSM\x03\x00"[..], &sum, &length, &length].concat();
    let sum = xxhash_rust::xxh3::xxh3_128(&header).to_le_bytes();
    [&header, &sum[..4], &data].concat()
}

/// The places of the blocks in a table.
fn blocks(table: &Path) -> Vec<usize> {
    let bytes = fs::read(table).unwrap();
    memchr::memmem::find_iter(&bytes, b"LSM\x03\x00").collect()
}

/// The keys that can be read, and the number of faults.
fn keys(table: &Path) -> (Vec<Vec<u8>>, usize) {
    let mut table = TableReader::open(table, 0).unwrap();
    let (mut keys, mut faults) = (Vec::new(), 0);
    while let Some(row) = table.next() {
        match row {
            Ok(row) => keys.push(row.key),
            Err(_) => faults += 1,
        }
    }
    (keys, faults)
}

#[test]
fn blocks_in_a_payload_are_not_read_after_damage() {
    let contents = [b"TOC!\x06\0\0\0".as_slice(), &[0; 24]].concat();
    let payload = [
        &forged_block(&key::task(1), b"earlier")[..],
        &forged_block(&key::task(1 << 40), b"later"),
        &contents,
    ];
    let payload = payload.concat();
    let directory = TestDirectory::with_payload(&payload);
    let [table] = &directory.tables(Space::Tasks)[..] else {
        panic!("there is one table");
    };
    let (before, faults) = keys(table);
    assert_eq!(faults, 0);
    let at = memchr::memmem::find(&fs::read(table).unwrap(), &payload).unwrap();
    let blocks = blocks(table);
    let outer = blocks.iter().rfind(|block| **block < at).unwrap();
    flip(table, outer + 6);
    let (found, faults) = keys(table);
    // The rest of the block before, between and after the forged ones.
    assert!((3..=4).contains(&faults), "{faults}");
    assert!(found.is_sorted(), "{found:?}");
    assert!(found.iter().all(|key| before.contains(key)));
    assert!(before.len() - found.len() < 60, "{}", found.len());
}

#[test]
fn blocks_between_two_damaged_headers_are_read() {
    let directory = TestDirectory::new(true).without_journals();
    for table in directory.tables(Space::Tasks) {
        let blocks = blocks(&table);
        let (before, _) = keys(&table);
        flip(&table, blocks[1] + 6);
        flip(&table, blocks[blocks.len() / 2] + 6);
        let (found, faults) = keys(&table);
        assert_eq!(faults, 2);
        assert!(found.is_sorted());
        assert!(before.len() - found.len() < 120, "{}", found.len());
    }
}
