//! Checks the invariants of a store while no server runs.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path};

use hyper_delay::{
    record::{Counts, Entry, Name, Place, Task, key},
    store::{Embedded, Space, Store},
};
use serde::de::DeserializeOwned;

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Decodes a record after its version byte.
fn record<R: DeserializeOwned>(bytes: &[u8]) -> R {
    postcard::from_bytes(&bytes[1..]).unwrap()
}

fn contents(store: &Embedded, space: Space) -> Contents {
    let mut contents = Contents::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        contents.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    };
    store.scan(space, &[], &mut visit).unwrap();
    contents
}

/// Opens the store of a killed server, asserts that its spaces are consistent, and returns the
/// number of its tasks.
pub(crate) fn audit(data: &Path) -> usize {
    let store = Embedded::open(data).unwrap();
    let meta = |key: &[u8]| store.get(Space::Meta, key).unwrap();
    let low_water = meta(b"low-water").map_or(0, |value| record::<u64>(&value));
    let limit = meta(b"numbers").map_or(1, |value| record::<u64>(&value));
    let tasks = contents(&store, Space::Tasks);
    let [waiting, parked, dead] =
        [Space::Waiting, Space::Parked, Space::Dead].map(|space| contents(&store, space));
    let names = contents(&store, Space::Names);
    let mut counts: BTreeMap<Vec<u8>, Counts> = BTreeMap::new();
    for (named, value) in &names {
        let name: Name = record(value);
        let (route, id) = named[1..].split_at(named[0].into());
        let (route, id) = [route, id]
            .map(|bytes| std::str::from_utf8(bytes).unwrap())
            .into();
        let entry = match name.place {
            Place::Waiting(at) => {
                assert!(
                    low_water <= at,
                    "{id} is due at {at}, before the low-water mark {low_water}"
                );
                waiting.get(&key::time(at, name.seq)[..])
            }
            Place::Parked(at) => parked.get(&key::route_time(route, at, name.seq)[..]),
            Place::Dead(at) => dead.get(&key::route_time(route, at, name.seq)[..]),
        };
        let entry = entry.expect("every name has an entry at its place");
        let expected = Entry {
            route,
            id,
            attempt: name.attempt,
            failures: name.failures,
        };
        let entry: Entry<'_> = postcard::from_bytes(&entry[1..]).unwrap();
        assert_eq!(entry, expected);
        let task = &tasks[&key::task(name.seq)[..]];
        let task: Task<'_> = postcard::from_bytes(&task[1..]).unwrap();
        assert_eq!(task.digest(), name.digest);
        assert!(
            name.seq < limit,
            "sequence number {} would be used twice",
            name.seq
        );
        for counted in [route, ""] {
            let counts = counts.entry(key::route(counted).to_vec()).or_default();
            match name.place {
                Place::Waiting(_) => counts.waiting += 1,
                Place::Parked(_) => counts.parked += 1,
                Place::Dead(_) => counts.dead += 1,
            }
        }
    }
    assert_eq!(waiting.len() + parked.len() + dead.len(), names.len());
    assert_eq!(tasks.len(), names.len(), "contents without a name");
    let written = contents(&store, Space::Counts);
    let written = written
        .iter()
        .map(|(key, value)| (key.clone(), record(value)));
    assert_eq!(written.collect::<BTreeMap<_, Counts>>(), counts);
    names.len()
}
