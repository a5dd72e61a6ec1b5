use std::{ops::ControlFlow, sync::Arc};

use super::side::{Side, Step, id, route};
use crate::{ShardId, merged::MergedStore, shard_of};
use hyper_delay_engine::ledger::LedgerView;
use hyper_delay_store::{ReadStore as _, Space, fake::Fake};

fn schedule() -> Step {
    Step::Schedule {
        at: 20_000,
        payload: 1,
        expires: false,
    }
}

#[test]
fn a_replica_can_be_replaced_while_it_is_read() {
    const SHARDS: u16 = 3;
    let mut side = Side::new(SHARDS);
    for number in 0..12 {
        side.apply((&route(number), &id(0)), &schedule());
    }
    let merged = Arc::new(MergedStore::new(side.stores.iter().cloned()));
    let view = LedgerView::new(merged.clone());
    let shard = shard_of(&route(0), SHARDS);
    let is_there = || view.name(&route(0), &id(0)).unwrap().is_some();
    assert!(is_there());
    let mut tasks = 0;
    let replace = |_: &[u8], _: &[u8]| {
        merged.replace(shard, Arc::new(Fake::default()));
        tasks += 1;
        ControlFlow::Continue(())
    };
    let mut visit = replace;
    merged.scan(Space::Waiting, &[], &mut visit).unwrap();
    assert_eq!(
        tasks, 12,
        "a read ends with the replicas that it began with"
    );
    assert!(!is_there());
    merged.replace(shard, side.stores[usize::from(shard.0)].clone());
    assert!(is_there());
}

#[test]
#[should_panic(expected = "the shard is one of the cluster")]
fn a_shard_that_does_not_exist_is_not_replaced() {
    let merged = Side::new(3).merged();
    merged.replace(ShardId(3), Arc::default());
}
