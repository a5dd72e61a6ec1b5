//! Backups whose rows do not belong together.

use tempfile::TempDir;

use super::{backup, check, entries, filled, restore};
use hyper_delay_fjall::data_directory::RESTORING;
use hyper_delay_protocol::Terms;
use hyper_delay_store::{
    Batch, Bytes, Durability, ReadStore as _, Space, Store as _,
    fake::Fake,
    record::{self, ExpiryEntry, Name, Place, RetryingEntry, Task, TaskEntry, key},
};

/// Changes a store, and returns why its backup is refused.
fn refusal(change: impl Fn(&mut Batch, &Fake)) -> String {
    let store = filled();
    let mut batch = Batch::new();
    change(&mut batch, &store);
    store.commit(batch, Durability::Synced).unwrap();
    let bytes = backup(&*store, 1 << 20);
    let to = TempDir::new().unwrap();
    let restored = restore(&*bytes, None, "it", to.path()).unwrap_err();
    assert_eq!(entries(to.path()), [RESTORING]);
    let error = check(&*bytes, "it").unwrap_err().to_string();
    assert_eq!(restored.to_string(), error);
    error
}

#[test]
fn rows_that_do_not_belong_together_are_refused() {
    for (found, expected) in [
        (
            refusal(|batch, store| {
                batch.remove(Space::Tasks, store.all(Space::Tasks)[0].0.clone());
            }),
            "its contents are not those of its names",
        ),
        (
            refusal(|batch, store| batch.remove(Space::Dead, store.all(Space::Dead)[0].0.clone())),
            "its names and its entries by time differ",
        ),
        (
            refusal(|batch, store| {
                let (key, _) = store.all(Space::Counts).pop().unwrap();
                batch.remove(Space::Counts, key);
            }),
            "the counts of route \"route\" are wrong",
        ),
        (
            refusal(|batch, _| batch.remove(Space::Meta, key::NUMBERS)),
            "would be given again",
        ),
        (
            refusal(|batch, _| batch.put(Space::DoneEven, *b"\x01ra", *b"\x01")),
            "in space done-even",
        ),
    ] {
        assert!(found.contains(expected), "{found}");
    }
}

/// The rows of the index of expiry, one for each task that is not finished.
fn index(store: &Fake) -> Vec<(Vec<u8>, Bytes)> {
    let meta = store.all(Space::Meta).into_iter();
    let index: Vec<_> = meta
        .filter(|(key, _)| key.starts_with(key::EXPIRY))
        .collect();
    assert_eq!(index.len(), 3);
    index
}

#[test]
fn missing_stray_and_wrong_rows_of_the_index_of_expiry_are_refused() {
    let differ = "its names and its index of expiry differ";
    for row in 0..3 {
        let found = refusal(|batch, store| {
            batch.remove(Space::Meta, index(store)[row].0.clone());
        });
        assert!(found.contains(differ), "row {row} is missing: {found}");
        let of = |route, id| record::encode(&ExpiryEntry { route, id });
        let wrong = [
            of("route", "another"),
            of("another", "waiting"),
            of("another", "parked"),
            of("another", "dead"),
        ];
        for value in wrong {
            let found = refusal(|batch, store| {
                batch.put(Space::Meta, index(store)[row].0.clone(), value.clone());
            });
            assert!(found.contains(differ), "row {row} is wrong: {found}");
        }
        // The same value at another time, and of another revision.
        for byte in [key::EXPIRY.len() + 7, key::EXPIRY.len() + 15] {
            let found = refusal(|batch, store| {
                let (mut key, value) = index(store)[row].clone();
                batch.remove(Space::Meta, key.clone());
                key[byte] ^= 0x40;
                batch.put(Space::Meta, key, value);
            });
            assert!(found.contains(differ), "row {row} is moved: {found}");
        }
    }
    let stray = |value: Bytes| {
        refusal(|batch, _| batch.put(Space::Meta, key::expiry(super::NOW, 1 << 40), value.clone()))
    };
    let (route, id) = ("route", "waiting");
    let found = stray(record::encode(&ExpiryEntry { route, id }));
    assert!(found.contains(differ), "{found}");
    let found = stray((*b"\x01").into());
    assert!(found.contains("in space meta"), "{found}");
}

#[test]
fn an_index_of_retrying_tasks_that_lacks_one_or_is_counted_wrong_is_refused() {
    let row = |store: &Fake| {
        let meta = store.all(Space::Meta).into_iter();
        let mut rows = meta.filter(|(key, _)| key.starts_with(key::RETRYING));
        rows.next().expect("one task is retrying").0
    };
    let numbers = "the numbers of retrying tasks are not those of their index";
    let found = refusal(|batch, store| batch.remove(Space::Meta, row(store)));
    assert!(found.contains(numbers), "{found}");
    let found = refusal(|batch, _| batch.remove(Space::Meta, key::retrying_count("route")));
    assert!(found.contains(numbers), "{found}");
    let found = refusal(|batch, store| {
        batch.remove(Space::Meta, row(store));
        for route in ["route", ""] {
            batch.remove(Space::Meta, key::retrying_count(route));
        }
    });
    assert!(found.contains("has 0 of route"), "{found}");
    let found = refusal(|batch, store| batch.put(Space::Meta, row(store), *b"\x01"));
    assert!(found.contains("in space meta"), "{found}");
}

#[test]
fn a_retrying_row_that_an_older_server_has_left_is_no_fault() {
    let store = filled();
    let mut batch = Batch::new();
    let stale = record::encode(&RetryingEntry { id: "gone" });
    batch.put(Space::Meta, key::retrying("route", 5, 1), stale);
    for route in ["route", ""] {
        batch.put(
            Space::Meta,
            key::retrying_count(route),
            record::encode(&2_u64),
        );
    }
    store.commit(batch, Durability::Synced).unwrap();
    check(&*backup(&*store, 1 << 20), "it").unwrap();
}

/// Changes the terms of the waiting task in some of its rows, and returns why the backup is
/// refused.
fn refusal_of_terms(spaces: &[Space], change: fn(&mut Terms)) -> String {
    refusal(|batch, store| {
        let names = store.all(Space::Names).into_iter();
        let mut names = names.map(|(key, value)| (key, record::decode::<Name>(&value).unwrap()));
        let is_waiting = |name: &Name| matches!(name.place, Place::Waiting(_));
        let (key, mut name) = names.find(|(_, name)| is_waiting(name)).unwrap();
        if spaces.contains(&Space::Names) {
            change(name.terms.as_mut().unwrap());
            batch.put(Space::Names, key, record::encode(&name));
        }
        if spaces.contains(&Space::Waiting) {
            let (key, value) = store.all(Space::Waiting).swap_remove(0);
            let mut entry: TaskEntry<'_> = record::decode(&value).unwrap();
            change(entry.terms.as_mut().unwrap());
            batch.put(Space::Waiting, key, record::encode(&entry));
        }
        if spaces.contains(&Space::Tasks) {
            let key = key::task(name.seq);
            let value = store.get(Space::Tasks, &key).unwrap().unwrap();
            let mut content: Task<'_> = record::decode(&value).unwrap();
            change(content.terms.as_mut().unwrap());
            batch.put(Space::Tasks, key, record::encode(&content));
        }
    })
}

#[test]
fn a_delay_that_is_not_the_scheduled_one_is_refused() {
    for delay_ms in [None, Some(4)] {
        let found = refusal(|batch, store| {
            let contents = store.all(Space::Tasks).into_iter();
            let mut contents = contents.filter(|(_, value)| {
                let content: Task<'_> = record::decode(value).unwrap();
                content.delay_ms.is_some()
            });
            let (key, value) = contents.next().expect("one has a delay");
            let mut content: Task<'_> = record::decode(&value).unwrap();
            content.delay_ms = delay_ms;
            batch.put(Space::Tasks, key, record::encode(&content));
        });
        let expected = "its contents are not those of its names";
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn terms_that_differ_between_the_rows_of_a_task_are_refused() {
    let changes: [fn(&mut Terms); 3] = [
        |terms| terms.ack_timeout_ms = None,
        |terms| terms.max_attempts = Some(9),
        // The value of one term is that of another one.
        |terms| terms.retry_delay_ms = terms.ack_timeout_ms.take(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for (spaces, expected) in [
            (
                &[Space::Names][..],
                "its contents are not those of its names",
            ),
            (
                &[Space::Waiting],
                "its names and its entries by time differ",
            ),
            (&[Space::Tasks], "its contents are not those of its names"),
            (
                &[Space::Names, Space::Waiting],
                "its contents are not those of its names",
            ),
        ] {
            let found = refusal_of_terms(spaces, change);
            assert!(found.contains(expected), "{number} of {spaces:?}: {found}");
        }
    }
}
