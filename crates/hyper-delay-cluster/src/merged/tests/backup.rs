//! A backup of all shards is one of a server without a cluster.

use std::{path::Path, sync::Arc};

use super::side::{ROUTES, Side, Step, id, route};
use hyper_delay_archive::backup::{BackupStream, restore};
use hyper_delay_engine::{
    ledger::{Ledger, LedgerView, Op, Outcome, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_fjall::{Embedded, OpenOptions};
use hyper_delay_protocol::{Compression, Headers};
use hyper_delay_store::{
    Durability, ReadStore, Space, SpaceRow,
    record::{self, FinishedTask, key},
};

fn rows(store: &impl ReadStore) -> Vec<SpaceRow> {
    let rows = store.snapshot().unwrap().rows;
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_snapshot_has_the_rows_that_a_scan_visits() {
    for shards in [1, 3, 8] {
        let [_, side] = Side::pair(7, shards, 800);
        let merged = side.merged();
        let mut scanned: Vec<SpaceRow> = Vec::new();
        for space in Space::ALL {
            let mut visit = |key: &[u8], value: &[u8]| {
                assert_eq!(merged.get(space, key).unwrap().as_deref(), Some(value));
                scanned.push((space, key.into(), value.into()));
                std::ops::ControlFlow::Continue(())
            };
            merged.scan(space, &[], &mut visit).unwrap();
        }
        let rows = rows(&*merged);
        assert!(rows == scanned && rows.len() > 100, "{}", rows.len());
        let keys = rows.iter().map(|(space, key, _)| (*space as usize, key));
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn one_shard_is_a_server_without_a_cluster() {
    let [single, side] = Side::pair(8, 1, 800);
    assert!(rows(&*side.merged()) == rows(&*single.stores[0]));
}

/// Restores a backup of all shards.
fn restored(side: &Side, directory: &Path) -> Arc<Embedded> {
    let mut stream = BackupStream::begin(side.merged().snapshot().unwrap(), 50_000);
    let mut backup = Vec::new();
    loop {
        let piece = stream.next(1_000).unwrap();
        if piece.is_empty() {
            break;
        }
        backup.extend(piece);
    }
    let checked = restore(&backup[..], None, "backup", directory).unwrap();
    assert_eq!(checked.tasks(), side.tasks());
    Arc::new(Embedded::open_with(directory, OpenOptions::default()).unwrap())
}

fn schedule(route: &str, id: &str) -> Op {
    Op::Schedule(ScheduleOrder {
        route: route.into(),
        id: id.into(),
        named: true,
        at: 60_000,
        fire_at: 60_000,
        delay_ms: None,
        compression: Compression::None,
        payload: b"new".as_slice().into(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    })
}

#[test]
fn a_server_without_a_cluster_restores_the_backup_of_all_shards() {
    for shards in [1, 3, 8] {
        let [_, side] = Side::pair(9, shards, 1_200);
        let merged = side.merged();
        let directory = tempfile::tempdir().unwrap();
        let restored = restored(&side, directory.path());
        // Running bulk operations are stopped by a restore.
        let rest = |rows: Vec<SpaceRow>| -> Vec<_> {
            let is_job = |row: &SpaceRow| row.0 == Space::Meta && row.1.starts_with(key::JOBS);
            rows.into_iter().filter(|row| !is_job(row)).collect()
        };
        assert!(rest(rows(&*restored)) == rest(rows(&*merged)));
        let mut ledger = Ledger::open(restored.clone(), 1_000, Sizes::SMALL).unwrap();
        let outcome = ledger.apply(&schedule("r", "new"), 50_001).unwrap();
        let Outcome::Scheduled { seq, .. } = outcome else {
            panic!("{outcome:?}");
        };
        let view = LedgerView::new(merged.clone());
        assert!(view.content(seq, |_| ()).unwrap().is_none(), "{seq}");
        ledger.commit(Durability::Written, 50_001).unwrap();
        let total = LedgerView::new(restored).totals().unwrap().total();
        assert_eq!(total, side.tasks() + 1);
    }
}

#[test]
fn finished_names_are_kept_as_long_after_a_restore() {
    let mut checked = 0;
    for seed in 0..10 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut side = Side::new(8);
        for number in 0..60 {
            let (route, id) = (route(random.u8(0..ROUTES)), id(number));
            let schedule = Step::Schedule {
                at: 20_000,
                payload: 1,
                expires: false,
            };
            side.apply((&route, &id), &schedule);
            side.apply((&route, &id), &Step::Finish);
            // Most shards are idle for longer than a generation is the current one.
            side.pass(random.u64(0..400));
        }
        let merged = side.merged();
        let mut names: Vec<(u64, Box<[u8]>)> = Vec::new();
        for (space, key, value) in rows(&*merged) {
            let is_done = matches!(space, Space::DoneEven | Space::DoneOdd);
            if is_done && merged.get(Space::Names, &key).unwrap().is_none() {
                let done: FinishedTask = record::decode(&value).unwrap();
                names.push((done.until, (&*key).into()));
            }
        }
        names.retain(|(until, _)| *until > side.now());
        names.sort_unstable();
        let directory = tempfile::tempdir().unwrap();
        let mut ledger =
            Ledger::open(restored(&side, directory.path()), 1_000, Sizes::SMALL).unwrap();
        for (until, key) in names {
            let now = until - 1;
            // This clears a generation whose names have expired.
            ledger.commit(Durability::Written, now).unwrap();
            let (route, id) = key::name_of(&key).unwrap();
            let outcome = ledger.apply(&schedule(route, id), now).unwrap();
            assert_eq!(outcome, Outcome::NameTaken, "{route} {id} until {until}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}
