//! Credit that a connection is lent piece by piece.

use super::{World, invariants, world::START};
use crate::front::FrontInput;
use hyper_delay_config::Config;

/// A shard of a cluster.
fn shard() -> World {
    let config = Config {
        credit: 0,
        ack_timeout_ms: 1_000,
        hedge: [("hedged".to_owned(), 100)].into(),
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

fn schedule(world: &mut World, route: &str, ids: &[&str]) {
    for id in ids {
        world.schedule_on(route, id, START, 0, false);
    }
    world.settle();
    invariants::check(world);
}

/// The ids that were delivered to a connection.
fn ids(world: &World, consumer: u64) -> Vec<String> {
    let deliveries = world.deliveries.iter();
    let of_consumer = deliveries.filter(|delivered| delivered.consumer == consumer);
    of_consumer
        .map(|delivered| delivered.id.to_string())
        .collect()
}

fn ack(world: &mut World, id: &str) {
    let mut deliveries = world.deliveries.iter().rev();
    let delivered = deliveries.find(|delivered| &*delivered.id == id);
    let delivered = delivered.expect("it was delivered").clone();
    world.ack_by_name(&delivered);
    world.settle();
    invariants::check(world);
}

fn wanted(world: &World, consumer: u64) -> u32 {
    world
        .nodes
        .accounts
        .get(&consumer)
        .map_or(0, |account| account.wanted)
}

fn returned(world: &World, consumer: u64) -> u32 {
    world.nodes.accounts[&consumer].returned
}

#[test]
fn a_connection_asks_for_credit_once_and_again_after_each_loan_that_does_not_suffice() {
    let mut world = shard();
    let consumer = world.connect(&["route"]);
    assert_eq!(wanted(&world, consumer), 0, "nothing waits");
    schedule(&mut world, "route", &["a", "b", "c"]);
    assert_eq!((wanted(&world, consumer), world.deliveries.len()), (1, 0));
    world.lend(consumer, 1);
    assert_eq!((wanted(&world, consumer), world.deliveries.len()), (2, 1));
    world.lend(consumer, 2);
    assert_eq!((wanted(&world, consumer), world.deliveries.len()), (2, 3));
    for id in ["a", "b", "c"] {
        ack(&mut world, id);
    }
    assert_eq!(wanted(&world, consumer), 2, "it has room");
}

#[test]
fn a_connection_of_a_single_node_has_credit_and_asks_for_none() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 1);
    schedule(&mut world, "route", &["a", "b"]);
    assert_eq!(ids(&world, consumer), ["a"]);
    assert!(world.nodes.accounts.is_empty());
}

#[test]
fn recalled_credit_is_given_back_unused_at_once_and_before_it_is_used_again() {
    let mut world = shard();
    let consumer = world.connect(&["route"]);
    world.lend(consumer, 3);
    schedule(&mut world, "route", &["a", "b"]);
    world.recall(consumer, 2);
    assert_eq!(returned(&world, consumer), 1);
    schedule(&mut world, "route", &["c"]);
    assert_eq!(wanted(&world, consumer), 1, "what is left is in use");
    ack(&mut world, "a");
    assert_eq!((returned(&world, consumer), world.deliveries.len()), (2, 2));
    ack(&mut world, "b");
    assert_eq!(ids(&world, consumer), ["a", "b", "c"]);
}

#[test]
fn recalled_credit_is_not_used_by_what_the_same_ack_frees() {
    let mut world = shard();
    let consumer = world.connect(&["hedged"]);
    let other = world.connect(&["hedged"]);
    world.lend(consumer, 1);
    schedule(&mut world, "hedged", &["a"]);
    world.lend(other, 1);
    world.run(100);
    schedule(&mut world, "hedged", &["b", "c"]);
    world.recall(consumer, 1);
    let delivered = world.deliveries[0].clone();
    assert_eq!((delivered.consumer, world.deliveries.len()), (consumer, 2));
    world.ack_by_name(&delivered);
    assert_eq!(returned(&world, consumer), 1);
    assert_eq!(
        (ids(&world, consumer).len(), ids(&world, other).len()),
        (1, 2)
    );
}

#[test]
fn a_task_whose_id_is_free_asks_for_the_credit_that_was_recalled_meanwhile() {
    let mut world = shard();
    let consumer = world.connect(&["route", "hedged"]);
    let other = world.connect(&["hedged"]);
    world.lend(consumer, 1);
    world.lend(other, 1);
    schedule(&mut world, "hedged", &["id"]);
    world.run(100);
    // The other one acknowledges: the copy is lost, takes no credit, and keeps its id.
    assert_eq!(world.deliveries.len(), 2);
    let delivered = world.deliveries.iter().find(|it| it.consumer == other);
    let delivered = delivered.expect("the hedge").clone();
    world.ack_by_name(&delivered);
    schedule(&mut world, "route", &["id"]);
    world.recall(consumer, 1);
    let credit = (returned(&world, consumer), wanted(&world, consumer));
    assert_eq!(credit, (1, 0), "it could not take the task");
    let delivered = world.deliveries[0].clone();
    world.ack_by_name(&delivered);
    assert_eq!(
        (delivered.consumer, wanted(&world, consumer)),
        (consumer, 1)
    );
    invariants::check(&world);
}

#[test]
fn a_route_that_a_loan_does_not_reach_asks_for_more() {
    let mut world = shard();
    let consumer = world.connect(&["first", "second"]);
    schedule(&mut world, "first", &["a"]);
    schedule(&mut world, "second", &["b"]);
    assert_eq!(wanted(&world, consumer), 1);
    world.lend(consumer, 1);
    assert_eq!((wanted(&world, consumer), world.deliveries.len()), (2, 1));
    world.lend(consumer, 1);
    assert_eq!((wanted(&world, consumer), world.deliveries.len()), (2, 2));
}

#[test]
fn a_paused_route_asks_for_no_credit() {
    let mut world = shard();
    let consumer = world.connect(&["paused", "route"]);
    schedule(&mut world, "paused", &["a"]);
    let route = "paused".into();
    world.operate(hyper_delay_protocol::AdminRequest::Pause { route });
    world.settle();
    world.lend(consumer, 1);
    let before = wanted(&world, consumer);
    schedule(&mut world, "route", &["b"]);
    world.recall(consumer, 1);
    ack(&mut world, "b");
    assert_eq!(
        (returned(&world, consumer), wanted(&world, consumer)),
        (1, before)
    );
}

#[test]
fn a_connection_that_is_about_to_close_gives_back_and_takes_nothing() {
    let mut world = shard();
    let consumer = world.connect(&["route"]);
    world.lend(consumer, 2);
    world.input(FrontInput::Closing(consumer));
    schedule(&mut world, "route", &["a"]);
    world.lend(consumer, 1);
    world.recall(consumer, 3);
    assert_eq!(
        (returned(&world, consumer), wanted(&world, consumer)),
        (3, 0)
    );
    assert!(world.deliveries.is_empty());
}
