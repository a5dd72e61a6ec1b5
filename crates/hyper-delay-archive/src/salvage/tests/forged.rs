//! Payloads with the bytes of valid batches, in damaged journals.

use std::{fs, ops::Range};

use super::{
    damage::{assert_saved, flip},
    fixture::{ExpectedTasks, TestDirectory},
};
use crate::salvage::{faults::FileFaults, stopped_store::StoppedStore};
use hyper_delay_fjall::{
    CommitMarker,
    commit_record::{CommitFile, CommitFileState, CommitRecord},
    journal_file::JournalFile,
};
use hyper_delay_store::{
    Space,
    record::{self, key},
};

/// A batch of a journal that removes the content of the first task, as the commit `commit`.
fn forged(commit: u64, before: u64) -> Vec<u8> {
    let marker = record::encode(&CommitMarker {
        commit,
        before,
        schedules: 1 << 20,
        removals: 1 << 20,
    });
    let item = |kind, key: &[u8], value: &[u8]| {
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        let key_length = u16::try_from(key.len()).unwrap().to_le_bytes();
        let keyspace = (Space::Tasks as u64 + 1).to_le_bytes();
        let header = [&[2, kind, 0][..], &keyspace, &key_length, &length, &length];
        [&header.concat(), key, value].concat()
    };
    let items = [
        item(1, &key::task(1), b""),
        item(0, CommitMarker::KEY, &marker),
    ]
    .concat();
    let sum = xxhash_rust::xxh3::xxh3_64(&items).to_le_bytes();
    let seqno = (1_u64 << 30) + commit;
    let start = [&[1, 2, 0, 0, 0][..], &seqno.to_le_bytes()].concat();
    [&start[..], &items, &[3], &sum, b"FJL\x03"].concat()
}

fn commits(directory: &TestDirectory) -> CommitRecord {
    match CommitFile::read_slots(directory.path()).unwrap() {
        (CommitFileState::Read(commits), _) => commits,
        other => panic!("{other:?}"),
    }
}

/// Returns the place of the batch with these bytes.
fn batch_with(directory: &TestDirectory, bytes: &[u8]) -> Range<usize> {
    let journal = JournalFile::read(&directory.journals()[0]).unwrap();
    let at = memchr::memmem::find(journal.written(), bytes).unwrap();
    let mut batches = journal.batches().map(|batch| batch.unwrap().range);
    batches.find(|range| range.contains(&at)).unwrap()
}

/// Asserts that the tools leave out some batches and keep all tasks but one.
#[track_caller]
fn assert_left_out(directory: &TestDirectory, mut before: ExpectedTasks, lost: &str, doubt: &str) {
    let findings = directory.verify();
    let is_named = |line: &String| line.contains("left out") && line.contains(doubt);
    assert!(findings.iter().any(is_named), "{findings:#?}");
    before.remove(&("north".to_owned(), lost.to_owned()));
    let (repaired, tasks) = directory.repair();
    assert_saved(&repaired, &tasks, &before);
    assert_eq!(repaired.lost, 0);
    assert!(repaired.faults.iter().any(is_named), "{repaired:#?}");
    assert_eq!(directory.export(), before);
}

/// A store whose last commit has the id `forged` and a payload with a batch that looks like that
/// commit, and the batch in the payload.
fn with_its_own_number() -> (TestDirectory, Vec<u8>) {
    let directory = TestDirectory::new(false);
    let before = commits(&directory).space(Space::Tasks).last;
    let probe = directory.copy();
    probe.schedule("forged", &forged(before + 1, before));
    let commit = commits(&probe).space(Space::Tasks).last;
    let batch = forged(commit, before);
    directory.schedule("forged", &[&batch[..], &[0; 100]].concat());
    assert_eq!(commits(&directory).space(Space::Tasks).last, commit);
    (directory, batch)
}

#[test]
fn batches_in_a_payload_are_left_out_after_damage() {
    let directory = TestDirectory::new(false);
    let first = 1 << 20;
    for count in 1..=3 {
        let directory = directory.copy();
        let batches = (first..first + count).map(|commit| forged(commit, commit - 1));
        let payload = batches.collect::<Vec<_>>().concat();
        directory.schedule("forged", &payload);
        directory.schedule("later", b"");
        let before = directory.export();
        let outer = batch_with(&directory, &payload);
        flip(&directory.journals()[0], outer.start);
        assert_left_out(&directory, before, "forged", "more damage follows them");
    }
}

#[test]
fn batch_with_the_number_of_the_damaged_one_is_left_out() {
    let (directory, batch) = with_its_own_number();
    let before = directory.export();
    let outer = batch_with(&directory, &batch);
    let last = directory.copy();
    flip(&last.journals()[0], outer.start);
    assert_left_out(&last, before, "forged", "commit record");

    directory.schedule("later", b"");
    let before = directory.export();
    flip(&directory.journals()[0], outer.start);
    assert_left_out(&directory, before, "forged", "more damage follows them");
}

#[test]
fn batch_in_a_payload_is_left_out_if_the_journal_is_cut_behind_it() {
    let (directory, batch) = with_its_own_number();
    let before = directory.export();
    let path = &directory.journals()[0];
    let written = JournalFile::read(path).unwrap().written().to_vec();
    let at = memchr::memmem::find(&written, &batch).unwrap();
    for zeros in [0, 50] {
        let directory = directory.copy();
        fs::write(
            &directory.journals()[0],
            &written[..at + batch.len() + zeros],
        )
        .unwrap();
        let cut = "the batch before them does not end in the file";
        assert_left_out(&directory, before.clone(), "forged", cut);
    }
}

#[test]
fn torn_batch_with_a_batch_in_its_payload_is_left_out_without_its_start_and_end() {
    let (directory, batch) = with_its_own_number();
    let before = directory.export();
    let path = &directory.journals()[0];
    let mut written = JournalFile::read(path).unwrap().written().to_vec();
    let outer = batch_with(&directory, &batch);
    let at = memchr::memmem::find(&written, &batch).unwrap();
    written[outer.start..at].fill(0);
    written.truncate(at + batch.len());
    fs::write(path, written).unwrap();
    // The record as it is before the commit.
    let whole = TestDirectory::new(false);
    let record = "commits";
    fs::copy(whole.path().join(record), directory.path().join(record)).unwrap();
    assert_left_out(&directory, before, "forged", "commit record");
}

/// A store with four small commits at its end, and their batches.
fn with_four() -> (TestDirectory, [Range<usize>; 4]) {
    let directory = TestDirectory::new(false);
    let ids = ["one", "two", "three", "four"];
    for id in ids {
        directory.schedule(id, format!("payload {id}").as_bytes());
    }
    let batches = ids.map(|id| batch_with(&directory, format!("payload {id}").as_bytes()));
    (directory, batches)
}

#[test]
fn batches_between_damage_and_a_torn_end_are_saved() {
    let (directory, [one, ..]) = with_four();
    let mut before = directory.export();
    before.remove(&("north".to_owned(), "one".to_owned()));
    let path = &directory.journals()[0];
    let mut bytes = JournalFile::read(path).unwrap().written().to_vec();
    bytes[one.start] ^= 4;
    bytes.extend_from_slice(&forged(1 << 30, 1)[..60]);
    fs::write(path, bytes).unwrap();
    let (repaired, tasks) = directory.repair();
    assert_saved(&repaired, &tasks, &before);
    assert_ne!(repaired.missing, [""; 0]);
}

#[test]
fn batches_between_two_damages_are_named_and_those_behind_both_are_saved() {
    let (directory, [one, two, three, _]) = with_four();
    for batch in [one, three] {
        flip(&directory.journals()[0], batch.start);
    }
    let findings = directory.verify();
    let between = format!("bytes {} to ", two.start);
    let is_named = |line: &String| line.contains(&between) && line.contains("more damage");
    assert!(findings.iter().any(is_named), "{findings:#?}");
    let (repaired, tasks) = directory.repair();
    let has = |id: &str| tasks.contains_key(&("north".to_owned(), id.to_owned()));
    assert_eq!(
        ["one", "two", "three", "four"].map(has),
        [false, false, false, true]
    );
    assert_ne!(repaired.missing, [""; 0]);
}

#[test]
fn batches_at_the_end_of_an_older_journal_are_saved_if_the_next_journal_names_them() {
    let (directory, [one, two, three, four]) = with_four();
    let mut before = directory.export();
    before.remove(&("north".to_owned(), "one".to_owned()));
    let path = &directory.journals()[0];
    let mut bytes = JournalFile::read(path).unwrap().written().to_vec();
    bytes[one.start] ^= 4;
    let saved = |older: &[u8], newer: &[u8]| {
        let directory = directory.copy();
        fs::write(directory.path().join("store/0.jnl"), older).unwrap();
        fs::write(directory.path().join("store/1.jnl"), newer).unwrap();
        directory.repair()
    };
    let (repaired, tasks) = saved(&bytes[..four.start], &bytes[four.start..]);
    assert_saved(&repaired, &tasks, &before);
    // Between the journals a batch is missing.
    let (repaired, _) = saved(&bytes[..three.start], &bytes[four.start..]);
    let left_out = format!("bytes {} to {}: ", two.start, three.start);
    let is_named = |line: &String| line.contains(&left_out) && line.contains("left out");
    assert!(repaired.faults.iter().any(is_named), "{repaired:#?}");
}

#[test]
fn without_a_commit_record_batches_before_a_torn_end_are_left_out_and_those_at_the_end_saved() {
    let (directory, [one, ..]) = with_four();
    fs::remove_file(directory.path().join("commits")).unwrap();
    let mut before = directory.export();
    before.remove(&("north".to_owned(), "one".to_owned()));
    let path = &directory.journals()[0];
    flip(path, one.start);
    let (repaired, tasks) = directory.repair();
    assert_saved(&repaired, &tasks, &before);

    let bytes = JournalFile::read(path).unwrap().written().to_vec();
    fs::write(path, [&bytes[..], &forged(1 << 30, 1)[..60]].concat()).unwrap();
    let findings = directory.verify();
    let is_named = |line: &String| line.contains("left out") && line.contains("no commit record");
    assert!(findings.iter().any(is_named), "{findings:#?}");
}

#[test]
fn one_flipped_bit_leaves_out_no_batch() {
    let (directory, _) = with_four();
    let path = &directory.journals()[0];
    let mut bytes = JournalFile::read(path).unwrap().written().to_vec();
    let step = bytes.len() / 60;
    for (turn, at) in (0..bytes.len()).step_by(step).enumerate() {
        // The last bytes are of small batches, which have little but lengths and tags.
        for at in [at, bytes.len() - 1 - turn * 7] {
            bytes[at] ^= 1 << (turn % 8);
            fs::write(path, &bytes).unwrap();
            bytes[at] ^= 1 << (turn % 8);
            let mut faults = FileFaults::default();
            drop(StoppedStore::open(directory.path(), &mut faults).unwrap());
            let faults = faults.into_lines();
            let is_left_out = |line: &String| line.contains("left out");
            assert!(!faults.iter().any(is_left_out), "byte {at}: {faults:#?}");
        }
    }
}
