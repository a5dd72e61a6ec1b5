//! The choice of the consumer that receives a task.

use std::collections::BTreeMap;

use super::{World, world::START};
use crate::scheduler::ConsumerId;
use hyper_delay_config::Config;

fn shares(world: &World) -> BTreeMap<ConsumerId, usize> {
    let mut shares = BTreeMap::new();
    for delivered in &world.deliveries {
        *shares.entry(delivered.consumer).or_default() += 1;
    }
    shares
}

#[test]
fn equal_consumers_take_turns() {
    let mut world = World::new(60_000, 1000, 100);
    world.acking = true;
    let consumers = [0; 3].map(|_| world.connect(&["route"]));
    for task in 0..30 {
        world.schedule(&format!("{task}"), START + task * 10);
    }
    world.run(1_000);
    assert_eq!(
        shares(&world),
        consumers.map(|consumer| (consumer, 10)).into()
    );
}

#[test]
fn a_consumer_that_answers_nothing_gets_one_task_per_two_ack_timeouts_at_most() {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 1,
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 1000, 100);
    let [frozen, healthy] = [0; 2].map(|_| world.connect(&["route"]));
    for task in 0..100 {
        world.schedule(&format!("{task}"), START + task * 100);
    }
    let mut seen = 0;
    for _ in 0..12_000 {
        world.run(1);
        let new: Vec<_> = world.deliveries[seen..].to_vec();
        for delivered in new {
            if delivered.consumer == healthy {
                world.ack_delivery(&delivered);
            }
        }
        seen = world.deliveries.len();
    }
    let shares = shares(&world);
    assert_eq!(shares[&healthy], 100);
    assert!((1..=7).contains(&shares[&frozen]), "{shares:?}");
}
