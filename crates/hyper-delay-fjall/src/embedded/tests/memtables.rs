use fjall::AbstractTree as _;

use crate::Embedded;
use hyper_delay_store::{Batch, Durability, ReadStore as _, Space, Store as _};

/// The library's worker seals a memtable late while it is busy. If it were left to it, the memtable
/// would grow meanwhile, and each commit would send the worker another message.
#[test]
fn a_full_memtable_is_sealed_by_the_commit_that_fills_it() {
    const VALUE: usize = 64 << 10;
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(directory.path()).unwrap();
    let memtable = store.budget.memtable;
    let batches = 4 * memtable as usize / VALUE;
    for number in 0..batches {
        let mut batch = Batch::new();
        batch.put(Space::Tasks, number.to_be_bytes(), vec![7; VALUE]);
        store.commit(batch, Durability::Written).unwrap();
        let size = store.space(Space::Tasks).tree.active_memtable().size();
        assert!(size <= memtable, "{size} bytes after {number} batches");
    }
    drop(store);
    let store = Embedded::open(directory.path()).unwrap();
    for number in 0..batches {
        let value = store.get(Space::Tasks, &number.to_be_bytes()).unwrap();
        assert_eq!(value.map(|value| value.len()), Some(VALUE), "{number}");
    }
}
