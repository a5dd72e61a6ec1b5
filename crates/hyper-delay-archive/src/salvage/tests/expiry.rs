//! The index of the tasks that expire.

use super::fixture::TestDirectory;
use hyper_delay_fjall::Embedded;
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _,
    record::{self, ExpiryEntry, key},
};

#[test]
fn an_index_that_is_not_that_of_the_tasks_is_found_and_made_anew() {
    let directory = TestDirectory::new(true);
    let first = || {
        let store = Embedded::open(directory.path()).unwrap();
        let mut first = None;
        let mut visit = |key: &[u8], _: &[u8]| {
            first = Some(key.to_vec());
            std::ops::ControlFlow::Break(())
        };
        store.scan(Space::Meta, key::EXPIRY, &mut visit).unwrap();
        first.filter(|key| key.starts_with(key::EXPIRY)).unwrap()
    };
    let (expires, stray) = (first(), key::expiry(5, 5));
    let other = record::encode(&ExpiryEntry {
        route: "north",
        id: "other",
    });
    for (what, key, value) in [
        ("a task is missing", &expires, None),
        ("a row has another name", &expires, Some(&other)),
        ("a row without a task", &stray, Some(&other)),
    ] {
        let damaged = directory.copy();
        let store = Embedded::open(damaged.path()).unwrap();
        let mut batch = Batch::new();
        match value {
            None => batch.remove(Space::Meta, key.clone()),
            Some(value) => batch.put(Space::Meta, key.clone(), value.clone()),
        }
        store.commit(batch, Durability::Synced).unwrap();
        drop(store);
        let findings = damaged.verify();
        let [finding] = findings.as_slice() else {
            panic!("{what}: {findings:?}");
        };
        assert!(finding.contains("the index of expiry"), "{what}: {finding}");
        let (_, tasks) = damaged.repair();
        assert_eq!(tasks, directory.export());
    }
}
