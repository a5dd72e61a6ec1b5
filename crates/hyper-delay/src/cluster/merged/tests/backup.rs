//! A backup of all shards is one of a server without a cluster.

use std::sync::Arc;

use super::side::Side;
use crate::{
    backup::{Stream, restore},
    ledger::{Ledger, Op, Order, Outcome, View},
    protocol::{Compression, Headers},
    record::key,
    store::{Durability, Embedded, OpenOptions, ReadStore, Space, SpaceRow},
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

#[test]
fn a_server_without_a_cluster_restores_the_backup_of_all_shards() {
    for shards in [1, 3, 8] {
        let [_, side] = Side::pair(9, shards, 1_200);
        let merged = side.merged();
        let mut stream = Stream::begin(merged.snapshot().unwrap(), 50_000);
        let mut backup = Vec::new();
        loop {
            let piece = stream.next(1_000).unwrap();
            if piece.is_empty() {
                break;
            }
            backup.extend(piece);
        }
        let directory = tempfile::tempdir().unwrap();
        let checked = restore(&backup[..], None, "backup", directory.path()).unwrap();
        assert_eq!(checked.tasks(), side.tasks());
        let options = OpenOptions::default();
        let restored = Arc::new(Embedded::open_with(directory.path(), options).unwrap());
        // Running bulk operations are stopped by a restore.
        let rest = |rows: Vec<SpaceRow>| -> Vec<_> {
            let is_job = |row: &SpaceRow| row.0 == Space::Meta && row.1.starts_with(key::JOBS);
            rows.into_iter().filter(|row| !is_job(row)).collect()
        };
        assert!(rest(rows(&*restored)) == rest(rows(&*merged)));
        let order = Order {
            route: "r".into(),
            id: "new".into(),
            named: true,
            at: 60_000,
            fire_at: 60_000,
            compression: Compression::None,
            payload: b"new".as_slice().into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        let mut ledger = Ledger::open(restored.clone(), 1_000).unwrap();
        let outcome = ledger.apply(&Op::Schedule(order), 50_001).unwrap();
        let Outcome::Scheduled { seq, .. } = outcome else {
            panic!("{outcome:?}");
        };
        let view = View::new(merged.clone());
        assert!(view.content(seq, |_| ()).unwrap().is_none(), "{seq}");
        ledger.commit(Durability::Written, 50_001).unwrap();
        let total = View::new(restored).totals().unwrap().total();
        assert_eq!(total, side.tasks() + 1);
    }
}
