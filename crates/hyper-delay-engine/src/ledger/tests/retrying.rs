//! The index of retrying tasks beside a server of version 0.3, which does not keep it.

use std::sync::Arc;

use super::{
    invariants::check_invariants,
    model::KEEP,
    world::{World, failure, schedule},
};
use crate::{
    ledger::{Ledger, LedgerView, Op, Outcome},
    release::Release,
    sizes::{Size, Sizes, counts},
};
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _,
    fake::Fake,
    record::{self, Name, Place, TaskEntry, key},
};

fn retrying(routes: &[&str], ids: &[&str]) -> World {
    let mut world = World::new();
    for route in routes {
        for id in ids {
            world.apply(&schedule(route, id, 20_000, b"x", false));
            let revision = world.revision(route, id);
            world.apply(&Op::Retry {
                attempt: 1,
                at: 30_000,
                failures: 1,
                failure: Some(failure(25_000, None)),
                revision,
            });
        }
    }
    world.commit(Durability::Synced);
    world
}

/// Makes a task due at another time as version 0.3 does: the name loses what that does not know.
fn retry_by_older_server(store: &Fake, route: &str, id: &str, at: u64) {
    let name_key = key::name(route, id);
    let value = store.get(Space::Names, &name_key).unwrap().unwrap();
    let name: Name = record::decode(&value).unwrap();
    let Place::Waiting(before) = name.place else {
        panic!("{id} does not wait");
    };
    let after = Name {
        place: Place::Waiting(at),
        failure: None,
        ..name
    };
    let mut batch = Batch::new();
    batch.remove(Space::Waiting, key::time(before, after.seq));
    let entry = record::encode(&TaskEntry::of(route, id, &after));
    batch.put(Space::Waiting, key::time(at, after.seq), entry);
    batch.put(Space::Names, name_key, record::encode(&after));
    store.commit(batch, Durability::Synced).unwrap();
}

fn check(ledger: &mut Ledger<Fake>, store: &Fake, mut between: impl FnMut(&mut Ledger<Fake>)) {
    let mut after: Box<[u8]> = Box::default();
    for batch in 1.. {
        let outcome = ledger.apply(&Op::CheckRetrying { after }, 50_000).unwrap();
        between(ledger);
        store
            .commit(ledger.take_batch().unwrap(), Durability::Synced)
            .unwrap();
        ledger.committed(batch);
        match outcome {
            Outcome::RetryingChecked(Some(next)) => after = next,
            Outcome::RetryingChecked(None) => return,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn rows_that_an_older_server_has_left_are_removed_page_by_page() {
    let world = retrying(&["r", "other"], &["a", "b", "c", "d"]);
    let store = world.store.clone();
    retry_by_older_server(&store, "r", "a", 40_000);
    retry_by_older_server(&store, "r", "d", 30_000);
    retry_by_older_server(&store, "other", "c", 31_000);
    let view = LedgerView::new(store.clone());
    let counted = || ["r", "other", ""].map(|route| view.retrying(route).unwrap());
    assert_eq!(counted(), [4, 4, 8], "three of them are stale");
    let mut ledger = Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap();
    counts::begin();
    check(&mut ledger, &store, |_| {});
    counts::assert_reached(&[Size::RetryingRows], 3);
    assert_eq!(counted(), [2, 3, 5]);
    check_invariants(&store);
}

#[test]
fn a_row_that_a_batch_in_hand_has_removed_is_not_counted_twice() {
    let world = retrying(&["r"], &["a", "b"]);
    let store = world.store.clone();
    let mut ledger = Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap();
    let cancel = Op::Cancel {
        route: "r".into(),
        id: "a".into(),
    };
    ledger.apply(&cancel, 50_000).unwrap();
    check(&mut ledger, &store, |_| {});
    assert_eq!(LedgerView::new(Arc::clone(&store)).retrying("").unwrap(), 1);
    check_invariants(&store);
}

#[test]
fn a_ledger_that_behaves_like_an_older_server_neither_reads_nor_writes_failures() {
    let world = retrying(&["r"], &["kept", "retried", "buried"]);
    let store = world.store.clone();
    let ledger = Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap();
    let mut ledger = ledger.with_release(Release::V0_3);
    let failure = Some(failure(50_000, None));
    let park = Op::Park(world.revision("r", "kept"));
    let retry = Op::Retry {
        revision: world.revision("r", "retried"),
        at: 60_000,
        attempt: 2,
        failures: 2,
        failure: failure.clone(),
    };
    let bury = Op::Bury {
        revision: world.revision("r", "buried"),
        at: 50_000,
        attempt: 2,
        failures: 2,
        reason: None,
        failure,
    };
    for op in [park, retry, bury] {
        assert_eq!(ledger.apply(&op, 50_000).unwrap(), Outcome::Applied(true));
    }
    let batch = ledger.take_batch().unwrap();
    store.commit(batch, Durability::Synced).unwrap();
    let view = LedgerView::new(store.clone());
    for (id, failures) in [("kept", 1), ("retried", 2), ("buried", 2)] {
        let name = view.name("r", id).unwrap().unwrap();
        assert_eq!((name.failures, name.failure), (failures, None), "{id}");
    }
    let rows = store.all(Space::Meta).into_iter();
    let rows = rows.filter(|(key, _)| key.starts_with(key::RETRYING));
    assert_eq!(rows.count(), 3, "the index is not kept");
}
