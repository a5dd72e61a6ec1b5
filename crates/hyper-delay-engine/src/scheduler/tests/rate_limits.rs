//! Requests that rate limits do not hold back.

use super::{World, invariants, world::START};
use hyper_delay_config::Config;

/// The ids of the deliveries, and how many milliseconds after the start they came.
fn deliveries(world: &World) -> Vec<(&str, u64)> {
    let deliveries = world.deliveries.iter();
    deliveries
        .map(|delivery| (&*delivery.id, delivery.at - START))
        .collect()
}

#[test]
fn copies_of_a_hedged_round_do_not_wait_for_the_rate_and_count_for_the_tasks_after_it() {
    let config = r#"{"hedge": {"route": 100}, "quotas": {"route": {"deliveries_per_second": 1}}}"#;
    let config = Config::from_json("f", config).unwrap();
    let mut world = World::with(config, 60_000, 1_000, 100);
    for _ in 0..3 {
        world.connect(&["route"]);
    }
    world.schedule("one", START);
    world.schedule("two", START + 1);
    world.run(250);
    let copies = [("one", 0), ("one", 100), ("one", 200)];
    assert_eq!(deliveries(&world), copies);
    let copy = world.deliveries[0].clone();
    world.ack_delivery(&copy);
    world.run(3_000);
    let next = [("two", 3_000), ("two", 3_100), ("two", 3_200)];
    assert_eq!(deliveries(&world)[3..], next);
    invariants::check(&world);
}
