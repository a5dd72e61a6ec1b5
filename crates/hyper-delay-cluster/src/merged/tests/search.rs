//! A search for an id.

use std::sync::Arc;

use hyper_delay_engine::{
    ledger::{Ledger, LedgerView, Op, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_protocol::{Compression, Headers};
use hyper_delay_server::http::search_all;
use hyper_delay_store::{Durability, fake::Fake};

use crate::{ShardId, first_seq, merged::MergedStore, shard_of};

/// Returns a store that has a task with the id `a` on those of 2,050 routes that it `has`. Its
/// numbers begin with `first`.
fn store(first: u64, has: impl Fn(&str) -> bool) -> Arc<Fake> {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open_from(store.clone(), 0, first, Sizes::SMALL).unwrap();
    let routes = (0..2_050).map(|route| format!("{route:04}"));
    for route in routes.filter(|route| has(route)) {
        let order = ScheduleOrder {
            route: route.into(),
            id: "a".into(),
            named: true,
            at: 7,
            fire_at: 7,
            delay_ms: None,
            compression: Compression::None,
            payload: b"".as_slice().into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        ledger.apply(&Op::Schedule(order), 1).unwrap();
    }
    ledger.commit(Durability::Written, 1).unwrap();
    store
}

#[test]
fn tasks_of_all_shards_are_found_in_the_same_order() {
    const SHARDS: u16 = 3;
    let single = store(first_seq(ShardId(0)), |_| true);
    let stores = (0..SHARDS).map(|shard| {
        let of_shard = |route: &str| shard_of(route, SHARDS).0 == shard;
        store(first_seq(ShardId(shard)), of_shard)
    });
    let merged = LedgerView::new(Arc::new(MergedStore::new(stores)));
    let expected = search_all(&LedgerView::new(single), "a").unwrap();
    assert!(expected.len() > 2, "there are several answers");
    assert_eq!(search_all(&merged, "a").unwrap(), expected);
}
