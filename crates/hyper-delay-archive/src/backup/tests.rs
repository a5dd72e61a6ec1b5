mod consistency;

use std::{ops::ControlFlow, path::Path, sync::Arc};

use tempfile::TempDir;

use super::{
    BackupError, BackupStream, check,
    format::{self, CHECKSUM, FRAME_HEAD, START},
    restore,
};
use hyper_delay_engine::{
    ledger::{Ledger, Op, Outcome, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_fjall::{Embedded, OpenOptions, data_directory::RESTORING};
use hyper_delay_protocol::{Compression, FailureKind, Headers, LastFailure, Terms};
use hyper_delay_store::{Durability, ReadStore as _, Space, SpaceRow, Store, fake::Fake};

const NOW: u64 = 1_000_000_000_000;

fn order(id: &str, payload: &[u8]) -> ScheduleOrder {
    ScheduleOrder {
        route: "route".into(),
        id: id.into(),
        named: true,
        at: NOW,
        fire_at: NOW,
        delay_ms: ["waiting", "finished"].contains(&id).then_some(3),
        compression: Compression::Lz4,
        payload: payload.into(),
        replace: true,
        headers: Headers::of_text(r#"{"a":"b"}"#),
        terms: Some(Box::new(Terms {
            expires_at: Some(NOW + 5),
            ack_timeout_ms: Some(7),
            ..Terms::default()
        })),
    }
}

/// Fills a store with a task in each state, all with terms and headers, an older revision, and a
/// finished name.
fn fill<S: Store>(store: &Arc<S>) {
    let mut ledger = Ledger::open(store.clone(), 100_000, Sizes::SMALL).unwrap();
    let mut revision = |id: &str| {
        ledger
            .apply(&Op::Schedule(order(id, b"first")), NOW)
            .unwrap();
        let order = Op::Schedule(order(id, id.as_bytes()));
        match ledger.apply(&order, NOW).unwrap() {
            Outcome::Scheduled { seq, .. } => TaskRevision {
                route: "route".into(),
                id: id.into(),
                seq,
                attempt: 1,
            },
            outcome => panic!("{outcome:?}"),
        }
    };
    let [waiting, parked, dead, finished] =
        ["waiting", "parked", "dead", "finished"].map(&mut revision);
    let failure = LastFailure {
        at: NOW,
        kind: FailureKind::AckTimeout,
        reason: None,
    };
    let retry = Op::Retry {
        revision: waiting,
        at: NOW + 2,
        attempt: 1,
        failures: 1,
        failure: Some(Box::new(failure)),
    };
    let bury = Op::Bury {
        revision: dead,
        at: NOW,
        attempt: 3,
        failures: 2,
        reason: None,
        failure: None,
    };
    for op in [retry, Op::Park(parked), bury, Op::Finish(finished)] {
        let outcome = ledger.apply(&op, NOW).unwrap();
        assert_eq!(outcome, Outcome::Applied(true), "{op:?}");
    }
    ledger.commit(Durability::Synced, NOW).unwrap();
}

fn filled() -> Arc<Fake> {
    let store = Arc::default();
    fill(&store);
    store
}

/// The whole backup, taken in pieces of `most` bytes.
fn backup(store: &impl Store, most: usize) -> Vec<u8> {
    let mut stream = BackupStream::begin(store.snapshot().unwrap(), NOW);
    let mut bytes = Vec::new();
    loop {
        assert_eq!(stream.offset(), bytes.len() as u64);
        let piece = stream.next(most).unwrap();
        assert!(piece.len() <= most);
        if piece.is_empty() {
            return bytes;
        }
        bytes.extend(piece);
    }
}

fn rows(store: &impl Store) -> Vec<SpaceRow> {
    let mut rows = Vec::new();
    for space in Space::ALL {
        let mut visit = |key: &[u8], value: &[u8]| {
            rows.push((space, key.into(), value.into()));
            ControlFlow::Continue(())
        };
        store.scan(space, &[], &mut visit).unwrap();
    }
    rows
}

fn opened(directory: &Path) -> Embedded {
    Embedded::open_with(directory, OpenOptions::default()).unwrap()
}

fn entries(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

/// Changes the contents of a whole backup, with checksums that match.
fn forged(bytes: &[u8], change: impl Fn(u8, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = bytes[..START].to_vec();
    let mut checksum = format::checksum(&out, 0);
    let mut rest = &bytes[START..];
    while let Some((head, after)) = rest.split_first_chunk::<FRAME_HEAD>() {
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut content = after[..length].to_vec();
        rest = &after[length + CHECKSUM..];
        change(head[0], &mut content);
        let at = out.len();
        out.push(head[0]);
        out.extend((content.len() as u32).to_le_bytes());
        out.extend(content);
        checksum = format::checksum(&out[at..], checksum);
        out.extend(checksum.to_le_bytes());
    }
    out
}

#[test]
fn a_restored_store_has_the_rows_of_the_one_that_was_backed_up() {
    let original = TempDir::new().unwrap();
    let store = Arc::new(opened(original.path()));
    fill(&store);
    store.flush_all();
    let mut ledger = Ledger::open(store.clone(), 100_000, Sizes::SMALL).unwrap();
    ledger
        .apply(&Op::Schedule(order("late", b"")), NOW)
        .unwrap();
    ledger.commit(Durability::Synced, NOW).unwrap();
    let bytes = backup(&*store, 1 << 20);

    let to = TempDir::new().unwrap();
    let checked = restore(&*bytes, None, "it", &to.path().join("new")).unwrap();
    assert_eq!((checked.counts.tasks(), checked.remembered), ([2, 1, 1], 1));
    assert_eq!(checked.header.made_at, NOW);
    assert_eq!(entries(&to.path().join("new")), ["commits", "store"]);
    let restored = opened(&to.path().join("new"));
    assert_eq!(rows(&restored), rows(&*store));
    drop(restored);
    // Again, and the rows are those of the first one.
    let again = backup(&opened(&to.path().join("new")), 100);
    let frames = |bytes: &[u8]| {
        let contents = std::cell::RefCell::new(Vec::new());
        forged(bytes, |kind, content| {
            contents.borrow_mut().push((kind, content.clone()));
        });
        contents.into_inner().split_off(1)
    };
    assert_eq!(frames(&again), frames(&bytes));
}

#[test]
fn a_backup_has_nothing_of_later_commits_and_all_of_earlier_ones() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(opened(directory.path()));
    fill(&store);
    let before = rows(&*store);
    let mut stream = BackupStream::begin(store.snapshot().unwrap(), NOW);
    let mut bytes = stream.next(10).unwrap();
    let mut ledger = Ledger::open(store.clone(), 100_000, Sizes::SMALL).unwrap();
    for round in 0..20 {
        for number in 0..100 {
            let id = format!("later-{round}-{number}");
            let order = order(&id, &[7; 3_000]);
            ledger.apply(&Op::Schedule(order), NOW).unwrap();
        }
        let (route, id) = ("route".into(), "waiting".into());
        ledger.apply(&Op::Cancel { route, id }, NOW).unwrap();
        ledger.commit(Durability::Written, NOW).unwrap();
        // The memtables and tables that the backup reads are replaced.
        store.flush_all();
        store.clear(Space::DoneEven).unwrap();
        store.clear(Space::DoneOdd).unwrap();
        bytes.extend(stream.next(10).unwrap());
    }
    bytes.extend(stream.next(1 << 20).unwrap());
    assert!(stream.next(1).unwrap().is_empty());
    let to = TempDir::new().unwrap();
    restore(&*bytes, None, "it", to.path()).unwrap();
    assert_eq!(rows(&opened(to.path())), before);
}

#[test]
fn the_size_of_pieces_does_not_matter() {
    let store = filled();
    let whole = backup(&*store, 1 << 20);
    for most in [1, 3, 100] {
        assert_eq!(backup(&*store, most), whole);
    }
    let checked = check(&*whole, "it").unwrap();
    assert_eq!(checked.tasks(), 3);
    assert_eq!(
        checked.to_string(),
        "3 tasks (1 waiting, 1 parked, 1 dead), 1 finished names"
    );
}

#[test]
fn the_backup_of_a_new_store_is_restored() {
    let bytes = backup(&Fake::default(), 100);
    let to = TempDir::new().unwrap();
    assert_eq!(restore(&*bytes, None, "it", to.path()).unwrap().tasks(), 0);
    assert_eq!(rows(&opened(to.path())), []);
}

#[test]
fn a_cut_backup_is_refused_wherever_it_is_cut() {
    let bytes = backup(&*filled(), 1 << 20);
    for length in 0..bytes.len() {
        let error = check(&bytes[..length], "it").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("is no backup") || text.contains("cut off: its end is missing"),
            "{length}: {text}"
        );
    }
    let longer = [&bytes[..], b"x"].concat();
    let error = check(&*longer, "it").unwrap_err();
    assert!(error.to_string().contains("bytes follow"), "{error}");
}

#[test]
fn a_backup_with_any_flipped_bit_is_refused() {
    let bytes = backup(&*filled(), 1 << 20);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            check(&*flipped, "it").unwrap_err();
        }
    }
}

#[test]
fn frames_that_are_missing_doubled_or_swapped_are_refused() {
    let bytes = backup(&*filled(), 1 << 20);
    let mut frames = Vec::new();
    let mut rest = &bytes[START..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[1..FRAME_HEAD].try_into().unwrap()) as usize;
        let (frame, after) = rest.split_at(FRAME_HEAD + length + CHECKSUM);
        frames.push(frame);
        rest = after;
    }
    assert!(frames.len() > 6);
    let is_refused = |frames: &[&[u8]]| {
        let joined = [&bytes[..START], &frames.concat()].concat();
        check(&*joined, "it").unwrap_err();
    };
    for at in 0..frames.len() {
        let mut other = frames.clone();
        other.remove(at);
        is_refused(&other);
        let mut other = frames.clone();
        other.insert(at, frames[at]);
        is_refused(&other);
        if at > 0 {
            let mut other = frames.clone();
            other.swap(at - 1, at);
            is_refused(&other);
        }
    }
}

#[test]
fn a_refused_backup_leaves_no_store() {
    let bytes = backup(&*filled(), 1 << 20);
    let to = TempDir::new().unwrap();
    let new = to.path().join("new");
    restore(&bytes[..bytes.len() - 20], None, "it", &new).unwrap_err();
    assert_eq!(entries(&new), [RESTORING]);
    restore(&*bytes, None, "it", &new).unwrap();
}

#[test]
fn only_an_empty_directory_is_restored_into() {
    let bytes = backup(&*filled(), 1 << 20);
    let to = TempDir::new().unwrap();
    std::fs::write(to.path().join("file"), "").unwrap();
    let error = restore(&*bytes, None, "it", to.path()).unwrap_err();
    assert!(
        matches!(&error, BackupError::NotEmpty { found, .. } if found == "file"),
        "{error}"
    );
    std::fs::remove_file(to.path().join("file")).unwrap();
    std::fs::create_dir(to.path().join("lost+found")).unwrap();
    restore(&*bytes, None, "it", to.path()).unwrap();
    let error = restore(&*bytes, None, "it", to.path()).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
}

#[test]
fn no_store_is_opened_beside_an_interrupted_restore() {
    let bytes = backup(&*filled(), 1 << 20);
    let to = TempDir::new().unwrap();
    std::fs::create_dir(to.path().join(RESTORING)).unwrap();
    std::fs::write(to.path().join(RESTORING).join("file"), "").unwrap();
    let open = || {
        Embedded::open_with(
            to.path(),
            OpenOptions {
                accept_loss: true,
                ..OpenOptions::default()
            },
        )
    };
    let text = open().unwrap_err().to_string();
    assert!(text.contains("that was interrupted or failed"), "{text}");
    // What is beside it can be what was there before.
    std::fs::write(to.path().join("file"), "").unwrap();
    let text = restore(&*bytes, None, "it", to.path())
        .unwrap_err()
        .to_string();
    assert!(text.contains("and has file: delete"), "{text}");
    std::fs::remove_file(to.path().join("file")).unwrap();
    restore(&bytes[..bytes.len() - 20], None, "it", to.path()).unwrap_err();
    assert_eq!(entries(to.path()), [RESTORING]);
    assert_eq!(entries(&to.path().join(RESTORING)), [""; 0]);
    open().unwrap_err();
    restore(&*bytes, None, "it", to.path()).unwrap();
    assert!(!to.path().join(RESTORING).exists());
    open().unwrap();
}

#[test]
fn a_newer_format_and_newer_records_are_refused_by_name() {
    let bytes = backup(&*filled(), 1 << 20);
    let mut newer = bytes.clone();
    newer[8] = 2;
    let damaged = check(&*newer, "it").unwrap_err().to_string();
    assert!(damaged.contains("a checksum does not match"), "{damaged}");
    let newer = forged(&newer, |_, _| {});
    let text = check(&*newer, "it").unwrap_err().to_string();
    let server = env!("CARGO_PKG_VERSION");
    let expected = format!("it was made by a newer server ({server}): its format is 2, ");
    assert!(text.starts_with(&expected), "{text}");
    let newer = forged(&bytes, |kind, content| {
        if kind == b'h' {
            *content.last_mut().unwrap() += 1;
        }
    });
    let text = check(&*newer, "it").unwrap_err().to_string();
    let expected =
        format!("it was made by a newer server ({server}): its format is 1, its records");
    assert!(text.starts_with(&expected), "{text}");
}
