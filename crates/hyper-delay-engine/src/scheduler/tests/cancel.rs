//! What a cancel tells about the consumers of a task.

use super::{Step, World, world::START};
use crate::front::FrontInput;
use hyper_delay_config::Config;
use hyper_delay_protocol::Reply;

/// The `in_flight` of the cancels that found the task, in order.
fn in_flight(world: &World) -> Vec<bool> {
    let replies = world.replies.iter();
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Cancelled {
                found: true,
                in_flight,
                ..
            } => Some(*in_flight),
            _ => None,
        })
        .collect()
}

fn config() -> Config {
    Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 60_000,
        ..Config::default()
    }
}

fn world() -> World {
    World::with(config(), 60_000, 1000, 100)
}

#[test]
fn a_task_that_is_delivered_while_the_cancel_is_under_way_was_in_flight() {
    let mut world = world();
    let consumer = world.connect(&["route"]);
    world.schedule("task", START + 10);
    world.settle();
    world.cancel("route", "task");
    world.step(Step::Pass(10));
    world.step(Step::Tick);
    assert_eq!(world.deliveries.len(), 1);
    // The ack comes before the cancel is on disk, and is too late to count.
    world.ack(consumer, &"task".into(), 1);
    world.settle();
    assert_eq!(in_flight(&world), [true]);
}

#[test]
fn a_task_whose_ack_is_late_was_in_flight() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.run(1_001);
    world.cancel("route", "task");
    world.settle();
    assert_eq!(in_flight(&world), [true]);
}

#[test]
fn all_tasks_of_a_high_credit_whose_acks_are_late_were_in_flight() {
    const TASKS: usize = 3_000;
    let mut world = World::with(config(), 60_000, 10_000, 10_000);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 3_000);
    for task in 0..TASKS {
        world.schedule(&format!("{task}"), START);
    }
    world.settle();
    assert_eq!(world.deliveries.len(), TASKS);
    // The copies that were given under the higher credit still count.
    world.register_with_credit(consumer, "route", 1);
    world.run(1_001);
    for task in 0..TASKS {
        world.cancel("route", &format!("{task}"));
    }
    world.settle();
    assert_eq!(in_flight(&world), [true; TASKS]);
}

#[test]
fn a_task_that_was_given_back_was_not_in_flight() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let delivered = world.deliveries[0].clone();
    world.nack_delivery(&delivered, None);
    world.settle();
    world.cancel("route", "task");
    world.settle();
    assert_eq!(in_flight(&world), [false]);
}

#[test]
fn after_a_cancel_that_found_no_consumer_no_copy_is_sent() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START + 10);
    world.settle();
    world.cancel("route", "task");
    world.step(Step::Commit);
    // It falls due after the cancel is on disk, and before the scheduler learns it.
    world.step(Step::Pass(10));
    world.step(Step::Tick);
    world.settle();
    assert_eq!(world.deliveries.len(), 0);
    world.run(10_000);
    assert_eq!(world.deliveries.len(), 0);
}

#[test]
fn a_connection_that_is_about_to_close_has_its_copies_and_receives_no_other() {
    let mut world = world();
    let closing = world.connect(&["route"]);
    world.schedule("first", START);
    world.settle();
    world.input(FrontInput::Closing(closing));
    world.schedule("second", START);
    world.cancel("route", "first");
    world.settle();
    assert_eq!(in_flight(&world), [true]);
    let other = world.connect(&["route"]);
    world.settle();
    let consumers = world.deliveries.iter().map(|delivered| delivered.consumer);
    assert_eq!(consumers.collect::<Vec<_>>(), [closing, other]);
}
