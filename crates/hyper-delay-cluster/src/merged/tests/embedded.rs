//! Stores on a disk.

use std::{ops::ControlFlow, sync::Arc};

use crate::merged::MergedStore;
use hyper_delay_fjall::{CommitMarker, Embedded};
use hyper_delay_store::{Batch, Durability, ReadStore, Space, Store, record::key};

fn scanned(store: &impl ReadStore, from: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut visit = |key: &[u8], _: &[u8]| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    };
    store.scan(Space::Tasks, from, &mut visit).unwrap();
    keys
}

#[test]
fn markers_of_the_stores_are_not_rows() {
    const STORES: u64 = 3;
    let directory = tempfile::tempdir().unwrap();
    let stores = (0..STORES).map(|number| {
        let store = Embedded::open(&directory.path().join(number.to_string())).unwrap();
        for (key, is_flushed) in [(1, true), (2, true), (3, false)] {
            let mut batch = Batch::new();
            batch.put(Space::Tasks, key::task(10 * key + number), *b"value");
            store.commit(batch, Durability::Written).unwrap();
            if is_flushed {
                store.flush_all();
            }
        }
        Arc::new(store)
    });
    let stores: Vec<_> = stores.collect();
    for store in &stores {
        for from in [
            &[][..],
            &key::task(20),
            &key::task(1_000),
            CommitMarker::KEY,
            &[0xff; 30],
        ] {
            let rows = store.rows(Space::Tasks, from);
            let keys: Vec<_> = rows.map(|row| row.unwrap().0.to_vec()).collect();
            assert_eq!(keys, scanned(&**store, from), "from {from:?}");
        }
    }
    let merged = MergedStore::new(stores.iter().cloned());
    let keys = [10, 11, 12, 20, 21, 22, 30, 31, 32].map(|seq| key::task(seq).to_vec());
    assert_eq!(scanned(&merged, &[]), keys);
    assert_eq!(scanned(&merged, &key::task(21)), keys[4..]);
    assert!(scanned(&merged, &[0xff; 30]).is_empty());
    let sizes = stores.iter().map(|store| store.size().unwrap());
    assert_eq!(merged.size().unwrap(), sizes.sum::<u64>());
}
