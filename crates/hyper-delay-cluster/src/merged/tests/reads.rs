//! What requests read over shards, counted.

use serde_json::json;

use super::{
    client::Client,
    side::{Side, Step},
};
use hyper_delay_store::{Batch, Durability, Space, Store as _, record::key};

const SHARDS: u16 = 8;

/// The most keys that a scan reads of each shard beyond those that it visits.
const AHEAD: usize = 2;

/// Returns shards with this many waiting, parked and dead tasks.
fn side(tasks: u32) -> Side {
    let mut side = Side::new(SHARDS);
    for number in 0..tasks * 3 {
        let route = format!("{}", number % 40).into();
        let id = number.to_string().into();
        let schedule = Step::Schedule {
            at: 20_000 + u64::from(number),
            payload: 5,
            expires: false,
        };
        side.apply((&route, &id), &schedule);
        match number % 3 {
            0 => side.apply((&route, &id), &Step::Park),
            1 => side.apply((&route, &id), &Step::Bury(1)),
            _ => {}
        }
    }
    side.apply((&"0".into(), &"0".into()), &Step::RaiseLowWater);
    side
}

#[test]
fn a_page_reads_a_bounded_number_of_keys() {
    let side = side(1_500);
    let client = Client::new(side.merged());
    // The marks of the shards, and what is read ahead, for each of up to three states.
    let beyond = usize::from(SHARDS) * (1 + AHEAD) * 3;
    for (limit, state) in [(1, "waiting"), (10, "parked"), (100, "dead")] {
        let before = side.reads();
        let request = json!({"kind": "list", "limit": limit, "state": state});
        let reply = client.ask(&request);
        let listed = reply["tasks"].as_array().unwrap().len();
        assert_eq!(listed, limit);
        let read = side.reads() - before;
        assert!(read <= 2 * listed + beyond, "{request} reads {read}");
    }
    for request in [
        json!({"kind": "list", "limit": 1_000}),
        json!({"kind": "list", "limit": 1_000, "route_key": "7"}),
        json!({"kind": "list", "limit": 1_000, "state": "waiting", "route_key": "no such route"}),
        json!({"kind": "dead", "limit": 1_000, "route_key": "7"}),
        json!({"kind": "reasons"}),
        json!({"kind": "kick_all", "route_key": "7", "reason": "no", "dry_run": true}),
    ] {
        let before = side.reads();
        client.ask(&request);
        let read = side.reads() - before;
        assert!(
            (10..=2_000 + beyond).contains(&read),
            "{request} reads {read}"
        );
    }
}

/// Tombstones of removed tasks, which have been before the mark, make a scan slow.
#[test]
fn nothing_is_read_before_the_mark_of_a_shard() {
    let side = side(20);
    for store in &side.stores {
        let first = store.all(Space::Waiting).swap_remove(0).0;
        let (at, seq) = key::time_of(&first).unwrap();
        let mut batch = Batch::new();
        batch.put(Space::Waiting, key::time(at - 1, seq), *b"before the mark");
        store.commit(batch, Durability::Written).unwrap();
    }
    let client = Client::new(side.merged());
    let reply = client.ask(&json!({"kind": "list", "state": "waiting"}));
    assert_eq!(reply["tasks"].as_array().unwrap().len(), 20);
}

#[test]
fn a_task_is_read_from_its_shard() {
    let side = side(20);
    let client = Client::new(side.merged());
    let before = side.reads();
    let reply = client.ask(&json!({"kind": "get", "route_key": "2", "id": "2", "payload": true}));
    assert_eq!(reply["found"], true);
    assert_eq!(side.reads() - before, 2, "its state and its content");
}
