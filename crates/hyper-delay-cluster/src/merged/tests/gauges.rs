use super::side::Side;
use hyper_delay_engine::{
    ledger::Position,
    metrics::{GaugeLimits, MemoryGauges, read_gauges},
};

#[test]
fn gauges_are_those_of_all_shards() {
    for shards in [1, 3, 8] {
        let [single, sharded] = Side::pair(u64::from(shards), shards, 1_200);
        for now in [0, 20_020, 90_000] {
            let memory = MemoryGauges {
                now,
                unread: Some(Position::start_of(20_010)),
                overdue: Some((Position::start_of(0), Position::start_of(20_010))),
                ..MemoryGauges::default()
            };
            for limits in [GaugeLimits::SCRAPE, GaugeLimits::PAGE] {
                let expected = read_gauges(&single.stores[0], &memory, &limits).unwrap();
                let found = read_gauges(&sharded.merged(), &memory, &limits).unwrap();
                assert_eq!(found, expected, "{shards} shards at {now}");
            }
        }
    }
}
