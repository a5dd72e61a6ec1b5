//! The invariants of a store, which hold after every commit and every power loss.

use std::collections::BTreeMap;

use super::model::Task;
use crate::ledger::{low_water::LowWaterMark, sequence_numbers::SequenceNumbers};
use hyper_delay_protocol::Due;
use hyper_delay_store::{
    ReadStore as _, Space,
    fake::Fake,
    record::{self, ExpiryEntry, Name, Place, RetryingEntry, StoredCounts, TaskEntry, key},
};

/// Checks that the spaces of a store agree with each other, and returns their tasks.
pub(super) fn check_invariants(store: &Fake) -> BTreeMap<(String, String), Task> {
    let mut tasks = BTreeMap::new();
    let mut counts: BTreeMap<Vec<u8>, StoredCounts> = BTreeMap::new();
    let mut expiring = BTreeMap::new();
    let mut retrying = BTreeMap::new();
    let mut retrying_counts: BTreeMap<String, u64> = BTreeMap::new();
    let low_water = LowWaterMark::open(store).unwrap().at();
    let next = SequenceNumbers::open(store, 1).unwrap().next();
    for (name_key, value) in store.all(Space::Names) {
        let (route, id) = split(&name_key);
        let name: Name = record::decode(&value).unwrap();
        let place = match name.place {
            Place::Waiting(at) => {
                assert!(
                    low_water <= at,
                    "{id} waits before the low-water mark {low_water}"
                );
                store.get(Space::Waiting, &key::time(at, name.seq))
            }
            Place::Parked(at) => store.get(Space::Parked, &key::route_time(&route, at, name.seq)),
            Place::Dead(at) => store.get(Space::Dead, &key::route_time(&route, at, name.seq)),
        };
        let entry = place.unwrap().expect("a name has an entry at its place");
        let wanted = TaskEntry {
            route: &route,
            id: &id,
            attempt: name.attempt,
            failures: name.failures,
            terms: name.terms.clone(),
        };
        assert_eq!(record::decode::<TaskEntry<'_>>(&entry).unwrap(), wanted);
        let content = store.get(Space::Tasks, &key::task(name.seq)).unwrap();
        let content = content.expect("a name has a content");
        let content: record::Task<'_> = record::decode(&content).unwrap();
        assert_eq!(content.digest(), name.digest);
        assert_eq!(content.fire_at, name.fire_at);
        assert!(
            name.seq < next,
            "the number {} would be issued again",
            name.seq
        );
        for counted in [key::route(&route), key::route("")] {
            let counts = counts.entry(counted.to_vec()).or_default();
            match name.place {
                Place::Waiting(_) => counts.waiting += 1,
                Place::Parked(_) => counts.parked += 1,
                Place::Dead(_) => counts.dead += 1,
            }
            if !matches!(name.place, Place::Dead(_)) {
                counts.bytes += content.payload.len() as u64;
            }
        }
        let task = Task {
            seq: name.seq,
            fire_at: name.fire_at,
            due: content
                .delay_ms
                .map_or(Due::At(content.fire_at), Due::After),
            payload: content.payload.into(),
            headers: content.headers.to_owned(),
            place: name.place,
            attempt: name.attempt,
            failures: name.failures,
            failure: name.failure.clone(),
            terms: name.terms.clone(),
        };
        assert_eq!(content.terms, name.terms);
        if let Some(key) = name.expiry_key() {
            let value = record::encode(&ExpiryEntry {
                route: &route,
                id: &id,
            });
            expiring.insert(key, value.to_vec());
        }
        if name.failure.is_some() && !matches!(name.place, Place::Dead(_)) {
            let key = key::retrying(&route, name.place.at(), name.seq).to_vec();
            let value = record::encode(&RetryingEntry { id: &id }).to_vec();
            retrying.insert(key, value);
            for counted in [&*route, ""] {
                *retrying_counts.entry(counted.to_owned()).or_default() += 1;
            }
        }
        tasks.insert((route, id), task);
    }
    let entries = [Space::Waiting, Space::Parked, Space::Dead].map(|space| store.all(space).len());
    assert_eq!(entries.iter().sum::<usize>(), tasks.len(), "stray entries");
    assert_eq!(
        store.all(Space::Tasks).len(),
        tasks.len(),
        "orphan contents"
    );
    let index = |prefix: &[u8]| {
        let meta = store.all(Space::Meta).into_iter();
        let rows = meta.filter(|(key, _)| key.starts_with(prefix));
        rows.map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(index(key::EXPIRY), expiring, "the index of expiry");
    assert_eq!(
        index(key::RETRYING),
        retrying,
        "the index of retrying tasks"
    );
    let counted = index(key::RETRYING_COUNTS).into_iter();
    let counted: BTreeMap<String, u64> = counted
        .map(|(key, value)| {
            let route = &key[key::RETRYING_COUNTS.len()..];
            let route = String::from_utf8(route.to_vec()).unwrap();
            (route, record::decode(&value).unwrap())
        })
        .collect();
    assert_eq!(counted, retrying_counts, "the numbers of retrying tasks");
    let written: BTreeMap<Vec<u8>, StoredCounts> = store
        .all(Space::Counts)
        .into_iter()
        .map(|(key, value)| (key, record::decode(&value).unwrap()))
        .collect();
    assert_eq!(written, counts, "counts");
    tasks
}

fn split(key: &[u8]) -> (String, String) {
    let (route, id) = key[1..].split_at(key[0].into());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(route), text(id))
}
