//! The reply to each request that changes nothing is the same over shards.

use serde_json::{Value, json};

use super::{
    client::Client,
    side::{IDS, REASONS, ROUTES, Side, id, route},
};
use crate::merged::MergedStore;
use hyper_delay_store::{Space, fake::Fake};

/// Both sides of a history, and their clients.
struct Pair {
    sides: [Side; 2],
    single: Client<Fake>,
    merged: Client<MergedStore<Fake>>,
}

impl Pair {
    /// Asks both sides.
    fn is_same(&self, request: Value) -> Value {
        let expected = self.single.ask(&request);
        assert_eq!(self.merged.ask(&request), expected, "{request}");
        expected
    }

    /// Asks both sides for all pages. Waiting tasks with the same time are in any order: numbers
    /// decide, and those of shards differ.
    fn is_same_walk(&self, request: &Value, rows: &str) -> usize {
        let (mut expected, pages) = self.single.walk(request, rows);
        let (mut found, found_pages) = self.merged.walk(request, rows);
        assert_eq!(found_pages, pages, "{request}");
        for rows in [&mut expected, &mut found] {
            let is_same = |a: &Value, b: &Value| {
                a["state"] == "waiting" && b["state"] == "waiting" && a["due"] == b["due"]
            };
            for equal in rows.chunk_by_mut(is_same) {
                equal.sort_by_key(Value::to_string);
            }
        }
        assert_eq!(found, expected, "{request}");
        found.len()
    }

    /// Returns all pages of each side, with the bulk operations counted from 0.
    fn numbered(&self, request: &Value, rows: &str) -> [(Vec<Value>, Vec<usize>); 2] {
        let walks = [
            self.single.walk(request, rows),
            self.merged.walk(request, rows),
        ];
        let mut sides = self.sides.iter();
        walks.map(|(mut rows, pages)| {
            let jobs = &sides.next().unwrap().jobs;
            for row in &mut rows {
                row.as_object_mut().unwrap().remove("number");
                if let Some(job) = row["job"].as_u64() {
                    let place = jobs.iter().position(|(number, _)| *number == job);
                    row["job"] = json!(place.unwrap());
                }
            }
            (rows, pages)
        })
    }
}

/// Adds a field to a request, or does not.
fn with(mut request: Value, name: &str, value: Option<Value>) -> Value {
    if let Some(value) = value {
        request[name] = value;
    }
    request
}

fn for_histories(seeds: u64, check: impl Fn(&mut fastrand::Rng, &Pair)) {
    for shards in [1, 3, 8] {
        for seed in 0..seeds {
            for sides in [
                Side::pair(seed, shards, 1_200),
                Side::imported_pair(seed, shards, 1_200),
            ] {
                for space in [Space::Waiting, Space::Parked, Space::Dead] {
                    assert!(shards > 3 || sides[1].is_spread(space), "{space:?}");
                }
                let pair = Pair {
                    single: Client::new(sides[0].stores[0].clone()),
                    merged: Client::new(sides[1].merged()),
                    sides,
                };
                check(&mut fastrand::Rng::with_seed(seed), &pair);
            }
        }
    }
}

#[test]
fn tasks_are_found_by_name() {
    for_histories(2, |random, pair| {
        let mut found = 0;
        for number in 0..u16::from(ROUTES) * u16::from(IDS) {
            let (of, number) = (number / u16::from(IDS), number % u16::from(IDS));
            let request = json!({
                "kind": "get",
                "route_key": *route(u8::try_from(of).unwrap()),
                "id": *id(u8::try_from(number).unwrap()),
                "payload": random.bool(),
            });
            let reply = pair.is_same(request);
            found += u64::from(reply["found"] == true);
        }
        assert_eq!(found, pair.sides[0].tasks());
    });
}

#[test]
fn tasks_are_listed_in_the_same_order() {
    for_histories(2, |random, pair| {
        let all = pair.is_same_walk(&json!({"kind": "list", "limit": 1_000}), "tasks");
        assert_eq!(all as u64, pair.sides[0].tasks());
        for _ in 0..60 {
            let some = |random: &mut fastrand::Rng| random.bool();
            let of = random.u8(0..ROUTES);
            let state = ["waiting", "parked", "dead"][random.usize(0..3)];
            let (from, until) = (random.u64(9_000..21_000), random.u64(9_000..21_000));
            let request = json!({"kind": "list", "limit": random.u16(1..40)});
            let request = with(
                request,
                "route_key",
                some(random).then(|| json!(*route(of))),
            );
            let request = with(request, "state", some(random).then(|| json!(state)));
            let request = with(
                request,
                "from",
                some(random).then(|| json!(from.min(until))),
            );
            let request = with(
                request,
                "until",
                some(random).then(|| json!(from.max(until))),
            );
            let request = with(request, "payload", some(random).then_some(true.into()));
            pair.is_same_walk(&request, "tasks");
        }
    });
}

#[test]
fn dead_letters_are_listed_in_the_same_order() {
    for_histories(2, |random, pair| {
        let mut found = 0;
        for of in 0..ROUTES {
            let request = json!({"kind": "dead", "route_key": *route(of)});
            found += pair.is_same_walk(&request, "tasks");
            let (from, until) = (random.u64(9_000..14_000), random.u64(9_000..14_000));
            let reason = REASONS[random.usize(0..REASONS.len())];
            let request = with(request, "limit", Some(json!(random.u16(1..5))));
            let request = with(request, "reason", random.bool().then(|| json!(reason)));
            let request = with(
                request,
                "from",
                random.bool().then(|| json!(from.min(until))),
            );
            let request = with(
                request,
                "until",
                random.bool().then(|| json!(from.max(until))),
            );
            let request = with(request, "payload", random.bool().then_some(true.into()));
            pair.is_same_walk(&request, "tasks");
        }
        assert!(found > 30, "{found}");
    });
}

#[test]
fn counts_are_those_of_all_shards() {
    for_histories(3, |random, pair| {
        let stats = pair.is_same(json!({"kind": "stats"}));
        assert!(stats["waiting"].as_u64() > Some(0), "{stats}");
        for of in 0..ROUTES {
            pair.is_same(json!({"kind": "stats", "route_key": *route(of)}));
            pair.is_same(json!({"kind": "stats", "after": *route(of)}));
            for act in ["kick_all", "delete_all", "purge"] {
                let request = json!({"kind": act, "route_key": *route(of), "dry_run": true});
                pair.is_same(request.clone());
                if act != "purge" {
                    let reason = REASONS[random.usize(0..REASONS.len())];
                    let from = random.u64(9_000..14_000);
                    let request = with(request, "reason", Some(json!(reason)));
                    let request = with(request, "from", random.bool().then(|| json!(from)));
                    pair.is_same(request);
                }
            }
        }
    });
}

#[test]
fn reasons_are_those_of_all_shards() {
    for_histories(3, |_, pair| {
        let all = pair.is_same_walk(&json!({"kind": "reasons"}), "reasons");
        assert!(all > usize::from(ROUTES), "{all}");
        for of in 0..ROUTES {
            let request = json!({"kind": "reasons", "route_key": *route(of)});
            pair.is_same_walk(&request, "reasons");
        }
    });
}

#[test]
fn bulk_operations_and_the_audit_are_in_the_order_of_time() {
    for_histories(3, |random, pair| {
        let [jobs, found] = pair.numbered(&json!({"kind": "jobs"}), "jobs");
        assert_eq!(found, jobs);
        assert!(!jobs.0.is_empty());
        for limit in [1_000, random.u16(1..7), 1] {
            let request = json!({"kind": "audit", "limit": limit});
            let [lines, found] = pair.numbered(&request, "lines");
            assert_eq!(found, lines, "{request}");
            assert!(lines.0.len() > 30, "{}", lines.0.len());
        }
    });
}
