//! Stores on a disk, and those that are refused.

use std::{fs, path::Path, sync::Arc};

use super::{ClusterImport, ImportError, NewShardStore, split};
use crate::{Charter, ShardId, replica::Replica, shard_of};
use hyper_delay_archive::salvage;
use hyper_delay_engine::{
    ledger::{Ledger, LedgerView, Op, Outcome, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_fjall::{Embedded, OpenOptions, node_directory::NodeDirectory};
use hyper_delay_protocol::{Compression, FailureKind, Headers, LastFailure};
use hyper_delay_store::{Batch, Durability, Space, Store, fake::Fake, record::key};

const CHARTER: Charter = Charter {
    cluster: 7,
    shards: 4,
};

const TASKS: u64 = 500;

/// Schedules tasks on many routes.
fn fill(store: Arc<impl Store>) {
    let mut ledger = Ledger::open(store, 1_000, Sizes::SMALL).unwrap();
    for number in 0..TASKS {
        let order = ScheduleOrder {
            route: format!("route-{}", number % 30).into(),
            id: format!("{number}").into(),
            named: true,
            at: 10_000 + number,
            fire_at: 10_000 + number,
            delay_ms: (number % 3 == 0).then_some(9_995 + number),
            compression: Compression::None,
            payload: vec![7; 30].into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        let (route, id) = (order.route.clone(), order.id.clone());
        let outcome = ledger.apply(&Op::Schedule(order), 5).unwrap();
        let Outcome::Scheduled { seq, .. } = outcome else {
            panic!("{outcome:?}");
        };
        if number % 5 == 0 {
            let failure = LastFailure {
                at: 4,
                kind: FailureKind::Nack,
                reason: None,
            };
            let retry = Op::Retry {
                revision: TaskRevision {
                    route,
                    id,
                    seq,
                    attempt: 1,
                },
                at: 10_000 + number,
                attempt: 1,
                failures: 1,
                failure: Some(Box::new(failure)),
            };
            ledger.apply(&retry, 5).unwrap();
        }
    }
    ledger.commit(Durability::Synced, 5).unwrap();
}

/// Returns the data directory of a stopped server with tasks.
fn stopped() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open_with(directory.path(), OpenOptions::default()).unwrap();
    fill(Arc::new(store));
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

#[test]
fn node_starts_with_the_tasks_of_the_store() {
    let from = stopped();
    let to = tempfile::tempdir().unwrap();
    let importing = ClusterImport::begin(to.path(), CHARTER).unwrap();
    let imported = importing.split(from.path()).unwrap();
    assert_eq!(imported.counts.total(), TASKS);
    for folder in importing.folders() {
        let verified = salvage::verify(&folder, &mut |line| panic!("{line}")).unwrap();
        assert!(verified.tasks > 0);
    }
    importing.finish().unwrap();
    assert_eq!(names(to.path()), ["shards"]);

    let node = NodeDirectory::lock(to.path(), CHARTER.shards).unwrap();
    let (mut found, mut retrying) = (0, 0);
    for (shard, beginning) in super::shards(CHARTER).zip(&imported.journal_starts) {
        let store = Arc::new(node.open(shard.0).unwrap());
        let replica = Replica::open(store.clone(), CHARTER, shard).unwrap();
        assert_eq!(replica.applied(), beginning.applied);
        let view = LedgerView::new(store);
        retrying += view.retrying("").unwrap();
        for number in 0..TASKS {
            let route = format!("route-{}", number % 30);
            let name = view.name(&route, &number.to_string()).unwrap();
            assert_eq!(name.is_some(), shard_of(&route, CHARTER.shards) == shard);
            found += u64::from(name.is_some());
        }
    }
    assert_eq!((found, retrying), (TASKS, TASKS / 5));
    drop(Embedded::open(from.path()).expect("the store stays as it was"));
}

#[test]
fn interrupted_import_is_made_again_with_the_same_result() {
    let from = stopped();
    let to = tempfile::tempdir().unwrap();
    let importing = ClusterImport::begin(to.path(), CHARTER).unwrap();
    let first = importing.split(from.path()).unwrap().journal_starts;
    // As if the process had been killed: the folder stays as it is.
    let copy = tempfile::tempdir().unwrap();
    let left = copy.path().join("restore.unfinished/0");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("file"), "left").unwrap();
    let error = NodeDirectory::lock(copy.path(), CHARTER.shards).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    let again = ClusterImport::begin(copy.path(), CHARTER).unwrap();
    assert_eq!(again.split(from.path()).unwrap().journal_starts, first);
    again.finish().unwrap();
    assert_eq!(names(copy.path()), ["shards"]);

    // Dropped without an end, it removes what it has written.
    drop(importing);
    assert_eq!(names(&to.path().join("restore.unfinished")), [""; 0]);
}

#[test]
fn directory_of_a_node_or_a_server_is_not_overwritten() {
    let from = stopped();
    let error = ClusterImport::begin(from.path(), CHARTER).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    let node = tempfile::tempdir().unwrap();
    drop(NodeDirectory::lock(node.path(), 4).unwrap());
    let error = ClusterImport::begin(node.path(), CHARTER).unwrap_err();
    assert!(error.to_string().contains("has shards"), "{error}");
}

fn refused(change: impl FnOnce(&mut Batch)) -> ImportError {
    let store = Arc::new(Fake::default());
    fill(store.clone());
    let mut batch = Batch::new();
    change(&mut batch);
    store.commit(batch, Durability::Written).unwrap();
    let targets = (0..CHARTER.shards).map(|_| NewShardStore::new(Arc::new(Fake::default())));
    split(&*store, &mut targets.collect::<Vec<_>>(), CHARTER).unwrap_err()
}

#[test]
fn inconsistent_and_newer_stores_are_refused() {
    let error = refused(|batch| batch.put(Space::Meta, *b"new-kind", *b"x"));
    assert!(matches!(error, ImportError::Unknown(key) if key == "new-kind"));
    let error = refused(|batch| batch.put(Space::Meta, key::MENDING, *b"x"));
    assert!(matches!(error, ImportError::Mending));
    for (space, key) in [
        (Space::Tasks, key::task(1 << 40).to_vec()),
        (Space::Waiting, key::time(9, 1 << 40).to_vec()),
        (Space::Meta, key::expiry(9, 1 << 40)),
    ] {
        let error = refused(|batch| batch.put(space, key, *b"x"));
        let ImportError::Stray {
            space: found,
            number,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((found, number), (space.name(), 1 << 40));
    }
}

#[test]
fn contents_decide_the_beginning_of_the_journals() {
    let beginnings = |more: bool| {
        let store = Arc::new(Fake::default());
        fill(store.clone());
        if more {
            let mut ledger = Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap();
            ledger.apply(&Op::Pause("route-0".into()), 6).unwrap();
            ledger.commit(Durability::Written, 6).unwrap();
        }
        let targets = (0..CHARTER.shards).map(|_| NewShardStore::new(Arc::new(Fake::default())));
        let mut targets: Vec<_> = targets.collect();
        split(&*store, &mut targets, CHARTER)
            .unwrap()
            .journal_starts
    };
    let (one, other) = (beginnings(false), beginnings(true));
    assert_eq!(one, beginnings(false));
    let paused = shard_of("route-0", CHARTER.shards);
    for (shard, (one, other)) in (0..).map(ShardId).zip(one.iter().zip(&other)) {
        assert_eq!(one != other, shard == paused, "{shard:?}");
    }
}
