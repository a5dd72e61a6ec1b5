//! The index of retrying tasks.

use std::sync::Arc;

use super::{super::repair, fixture::TestDirectory};
use hyper_delay_engine::ledger::LedgerView;
use hyper_delay_fjall::Embedded;
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _,
    record::{self, Name, key},
};

/// The failures of the tasks of a store by id, and their stored number.
fn retrying(directory: &std::path::Path) -> (Vec<(String, String)>, u64) {
    let store = Arc::new(Embedded::open(directory).unwrap());
    let mut found = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        let name: Name = record::decode(value).unwrap();
        if name.is_retrying() {
            let (_, id) = key::name_of(key).unwrap();
            found.push((id.to_owned(), format!("{:?}", name.failure)));
        }
        std::ops::ControlFlow::Continue(())
    };
    store.scan(Space::Names, &[], &mut visit).unwrap();
    (found, LedgerView::new(store).retrying("").unwrap())
}

#[test]
fn a_repair_keeps_failures_and_makes_the_index_anew() {
    let directory = TestDirectory::new(true);
    let (before, number) = retrying(directory.path());
    assert!(
        before.len() > 3 && before.len() as u64 == number,
        "{number}"
    );
    let store = Embedded::open(directory.path()).unwrap();
    let mut batch = Batch::new();
    let mut visit = |key: &[u8], _: &[u8]| {
        if key.starts_with(key::RETRYING_PREFIX) {
            batch.remove(Space::Meta, key.to_vec());
        }
        std::ops::ControlFlow::Continue(())
    };
    store.scan(Space::Meta, &[], &mut visit).unwrap();
    store.commit(batch, Durability::Synced).unwrap();
    drop(store);
    let findings = directory.verify();
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert!(finding.contains("the index of retrying tasks"), "{finding}");
    let new = tempfile::tempdir().unwrap();
    let to = new.path().join("repaired");
    repair(directory.path(), &to).unwrap();
    assert_eq!(retrying(&to), (before, number));
    directory.repair();
}
