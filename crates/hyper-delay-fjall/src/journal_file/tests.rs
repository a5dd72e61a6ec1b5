//! Journals written by the library itself: undamaged, with flipped bits, and cut.

use std::{
    fs::{self, File},
    io::Write as _,
};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use tempfile::TempDir;

use super::*;

struct WrittenJournal {
    directory: TempDir,
    bytes: Vec<u8>,
}

/// Writes a journal of eight batches with one put and one removal each, and a clear before the
/// last.
fn written() -> WrittenJournal {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::builder(directory.path().join("store"))
        .open()
        .unwrap();
    let keyspace = |name| {
        database
            .keyspace(name, KeyspaceCreateOptions::default)
            .unwrap()
    };
    let (one, two) = (keyspace("one"), keyspace("two"));
    for number in 0..8_u8 {
        if number == 7 {
            two.clear().unwrap();
        }
        put(&database, &one, &two, number);
    }
    let path = JournalFile::list(&directory.path().join("store"))
        .unwrap()
        .remove(0);
    let bytes = JournalFile::read(&path).unwrap().bytes;
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 << 20);
    WrittenJournal { directory, bytes }
}

fn put(database: &Database, one: &Keyspace, two: &Keyspace, number: u8) {
    let mut batch = database.batch().durability(Some(PersistMode::SyncData));
    batch.insert(one, [number + 1; 20], vec![number; 100]);
    batch.remove(two, [number + 1; 3]);
    batch.commit().unwrap();
}

impl WrittenJournal {
    fn journal(&self, bytes: &[u8], zeros: u64) -> JournalFile {
        let path = self.directory.path().join("changed");
        fs::write(&path, bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(bytes.len() as u64 + zeros).unwrap();
        JournalFile::read(&path).unwrap()
    }
}

/// Returns the positions of the batches of a journal, and its damage.
fn read(journal: &JournalFile) -> (Vec<Range<usize>>, Vec<JournalDamage>) {
    let (mut batches, mut damage) = (Vec::new(), Vec::new());
    for piece in journal.batches() {
        match piece {
            Ok(batch) => batches.push(batch.range),
            Err(error) => damage.push(error),
        }
    }
    (batches, damage)
}

#[test]
fn whole_journal_yields_every_batch() {
    let written = written();
    for zeros in [0, 1_000] {
        let journal = written.journal(&written.bytes, zeros);
        let batches: Vec<_> = journal.batches().map(Result::unwrap).collect();
        assert_eq!(batches.len(), 9);
        assert!(batches.is_sorted_by_key(|batch| batch.seqno));
        let (clears, puts): (Vec<_>, Vec<_>) =
            batches.iter().partition(|batch| batch.items.is_empty());
        assert_eq!(clears[0].clears, [2]);
        for (number, batch) in (0..8_u8).zip(puts) {
            let [put, removal] = batch.items[..] else {
                panic!("{batch:?}");
            };
            assert_eq!((put.keyspace, put.key), (1, [number + 1; 20].as_slice()));
            assert_eq!(put.value, Some([number; 100].as_slice()));
            assert_eq!((removal.keyspace, removal.value), (2, None));
            assert!(batch.clears.is_empty());
        }
    }
}

#[test]
fn journal_without_batches_is_whole() {
    let written = written();
    for zeros in [0, 1_000] {
        assert_eq!(read(&written.journal(&[], zeros)), (vec![], vec![]));
    }
}

#[test]
fn journal_cut_anywhere_has_a_torn_tail_unless_cut_between_batches() {
    let written = written();
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    for cut in 0..written.bytes.len() {
        for zeros in [0, 50] {
            let (found, damage) = read(&written.journal(&written.bytes[..cut], zeros));
            let whole = batches.iter().filter(|batch| batch.end <= cut).count();
            assert_eq!(found, batches[..whole]);
            let end = found.last().map_or(0, |batch| batch.end);
            match &damage[..] {
                [] => assert!(written.bytes[end..cut].iter().all(|byte| *byte == 0)),
                [torn] => assert!(torn.is_tail && torn.range.start == end, "{torn}"),
                more => panic!("{more:?}"),
            }
        }
    }
}

#[test]
fn flipped_bit_is_reported_and_costs_one_batch() {
    let written = written();
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    for at in 0..written.bytes.len() {
        let bit = at % 8;
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 1 << bit;
        let (found, damage) = read(&written.journal(&bytes, 100));
        let hit = batches
            .iter()
            .position(|batch| batch.contains(&at))
            .unwrap();
        let in_seqno = (5..13).contains(&(at - batches[hit].start));
        if in_seqno && damage.is_empty() {
            // The changed sequence number keeps the order of the batches.
            assert_eq!(found, batches);
            continue;
        }
        let [damage] = &damage[..] else {
            panic!("byte {at}: {damage:?}");
        };
        let lost = batches
            .iter()
            .position(|batch| batch.start == damage.range.start);
        let lost = lost.unwrap();
        if in_seqno {
            // Of two batches with one number, either can be the one that is out of order.
            assert!((hit..=hit + 1).contains(&lost), "byte {at}: {damage}");
        } else {
            assert_eq!(
                (lost, damage.is_tail),
                (hit, hit == 8),
                "byte {at}: {damage}"
            );
        }
        let mut others = batches.clone();
        others.remove(lost);
        assert_eq!(found, others, "byte {at}");
    }
}

#[test]
fn hole_of_zeros_is_damage_in_the_middle() {
    let written = written();
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    let mut bytes = written.bytes.clone();
    bytes[batches[2].start..batches[4].end].fill(0);
    let (found, damage) = read(&written.journal(&bytes, 0));
    assert_eq!(found.len(), batches.len() - 3);
    assert_eq!(damage[0].range, batches[2].start..batches[5].start);
    assert_eq!(damage[0].reason, BatchDamage::Tag { found: 0 });
    assert!(!damage[0].is_tail);
}

/// A whole journal in which one put has this value, and the places of the batch with that put and
/// of the value.
fn written_with_value(value: &[u8]) -> (WrittenJournal, Range<usize>, Range<usize>) {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let database = Database::builder(&store).open().unwrap();
    let keyspace = database
        .keyspace("one", KeyspaceCreateOptions::default)
        .unwrap();
    for value in [b"before", value, b"after", b"later"] {
        keyspace.insert("key", value).unwrap();
    }
    database.persist(PersistMode::SyncData).unwrap();
    let path = JournalFile::list(&store).unwrap().remove(0);
    let bytes = JournalFile::read(&path).unwrap().bytes;
    drop((keyspace, database));
    let written = WrittenJournal { directory, bytes };
    let at = memchr::memmem::find(&written.bytes, value).unwrap();
    let (batches, damage) = read(&written.journal(&written.bytes, 0));
    assert_eq!((batches.len(), damage.len()), (4, 0));
    let outer = batches.iter().find(|batch| batch.contains(&at)).unwrap();
    (written, outer.clone(), at..at + value.len())
}

/// A batch with a high sequence number.
fn forged() -> Vec<u8> {
    let written = written();
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    let mut forged = written.bytes[batches[0].clone()].to_vec();
    // The checksum does not cover the sequence number.
    forged[5..13].copy_from_slice(&(1_u64 << 30).to_le_bytes());
    forged
}

#[test]
fn batch_in_a_value_of_a_damaged_batch_hides_no_later_batch() {
    let (written, outer, forged) = written_with_value(&forged());
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    for at in [outer.start, outer.end - 1] {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 1;
        let (found, _) = read(&written.journal(&bytes, 0));
        assert!(found.contains(&forged), "byte {at}: {found:?}");
        for batch in batches.iter().filter(|batch| **batch != outer) {
            assert!(found.contains(batch), "byte {at}: {batch:?} {found:?}");
        }
    }
}

#[test]
fn damaged_batch_that_says_where_it_ends_is_not_searched() {
    let (written, outer, value) = written_with_value(&forged());
    let (batches, _) = read(&written.journal(&written.bytes, 0));
    // The keyspace, the key, the value, the checksum; and the sequence number.
    let key = value.start - 1;
    for (at, bit) in [
        (outer.start + 16, 0),
        (key, 0),
        (value.start + 40, 0),
        (outer.end - 5, 0),
        (outer.start + 11, 7),
    ] {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 1 << bit;
        let (found, damage) = read(&written.journal(&bytes, 0));
        let others = batches.iter().filter(|batch| **batch != outer).cloned();
        assert_eq!(found, others.collect::<Vec<_>>(), "byte {at}");
        assert_eq!(damage[0].range, outer, "byte {at}");
    }
}

/// Bytes that look like `count` batches, each of which contains all later ones and ends with the
/// last.
fn nested(count: u32) -> Vec<u8> {
    /// The bytes of an item with an empty key before its value.
    const HEADER: usize = 21;
    let value = 13_u32.to_le_bytes();
    let item = [&[2, 1, 0], &[0; 10][..], &value, &value].concat();
    assert_eq!(item.len(), HEADER);
    let mut bytes = Vec::new();
    for left in (1..count).rev() {
        bytes.extend_from_slice(&item);
        // The value is the start of a batch.
        bytes.push(1);
        bytes.extend_from_slice(&left.to_le_bytes());
        bytes.extend_from_slice(&7_u64.to_le_bytes());
    }
    bytes.extend_from_slice(&item);
    bytes.extend_from_slice(&[0; 13]);
    [&bytes[..], &[3], &[0; 8], b"FJL\x03"].concat()
}

#[test]
fn search_among_bytes_that_look_like_batches_is_bounded() {
    for (count, is_searched) in [(100, true), (20_000, false)] {
        let (written, outer, _) = written_with_value(&nested(count));
        let mut bytes = written.bytes.clone();
        bytes[outer.start] ^= 1;
        let journal = written.journal(&bytes, 0);
        let mut batches = journal.batches();
        let pieces: Vec<_> = batches.by_ref().collect();
        let limit = MIN_WORK + WORK_PER_BYTE * bytes.len() as u64;
        assert!(batches.work <= limit + bytes.len() as u64 * 2, "{count}");
        let damage = pieces[1].as_ref().unwrap_err();
        assert_eq!((damage.is_searched, damage.is_tail), (is_searched, false));
        assert_eq!(damage.to_string().contains("too many"), !is_searched);
        assert_eq!(pieces.len(), if is_searched { 4 } else { 2 });
    }
}

#[test]
fn reading_a_whole_journal_takes_a_tenth_of_the_work_limit() {
    let written = written();
    let journal = written.journal(&written.bytes, 0);
    let mut batches = journal.batches();
    assert!(batches.by_ref().all(|piece| piece.is_ok()));
    assert!(batches.work * 10 <= WORK_PER_BYTE * written.bytes.len() as u64);
}

#[test]
fn holes_before_the_end_are_read_as_zeros() {
    let written = written();
    let path = written.directory.path().join("changed");
    let mut file = File::create(&path).unwrap();
    let mut expected = vec![0; 40 << 20];
    for at in [5, 1 << 20, (20 << 20) + 7] {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&written.bytes).unwrap();
        expected[at..at + written.bytes.len()].copy_from_slice(&written.bytes);
    }
    file.set_len(expected.len() as u64).unwrap();
    let read = JournalFile::read(&path).unwrap();
    assert!(expected.starts_with(read.written()));
    assert!(
        expected[read.written().len()..]
            .iter()
            .all(|byte| *byte == 0)
    );
    assert_eq!(read.written().len(), (20 << 20) + 7 + written.bytes.len());
}

#[test]
fn batches_that_use_the_numbers_of_clears_again_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    for _ in 0..3 {
        let database = Database::builder(&store).open().unwrap();
        let keyspace = |name| {
            database
                .keyspace(name, KeyspaceCreateOptions::default)
                .unwrap()
        };
        let (one, two) = (keyspace("one"), keyspace("two"));
        for number in 0..4 {
            put(&database, &one, &two, number);
        }
        for _ in 0..4 {
            two.clear().unwrap();
        }
    }
    let path = JournalFile::list(&store).unwrap().remove(0);
    let (batches, damage) = read(&JournalFile::read(&path).unwrap());
    assert_eq!((batches.len(), damage), (3 * (4 + 4), vec![]));
}

#[test]
fn other_files_are_not_listed() {
    let written = written();
    let store = written.directory.path().join("store");
    for name in ["10.jnl", "9.jnl", "x.jnl", "9.jnl.old"] {
        File::create(store.join(name)).unwrap();
    }
    let files = ["0.jnl", "9.jnl", "10.jnl"].map(|name| store.join(name));
    assert_eq!(JournalFile::list(&store).unwrap(), files);
}
