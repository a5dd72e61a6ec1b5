//! The numbers of rounds tell deliveries apart.

use super::{Step, World, invariants, world::START};
use hyper_delay_config::Config;
use hyper_delay_protocol::{Reply, TaskRequest};

fn removed(world: &World) -> Vec<bool> {
    let replies = world.replies.iter();
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Acked { removed, .. } => Some(*removed),
            _ => None,
        })
        .collect()
}

#[test]
fn a_late_ack_of_a_task_that_was_cancelled_does_not_remove_the_next_of_its_name() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    world.ask(
        0,
        TaskRequest::Cancel {
            route: "route".into(),
            id: "task".into(),
        },
    );
    world.settle();
    world.schedule("task", START + 1);
    // The ack timeout, after which the consumer may have the name again.
    world.run(30_001);
    let rounds: Vec<u32> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.attempt)
        .collect();
    assert_eq!(rounds, [1, 2]);
    world.ack(consumer, &"task".into(), 1);
    world.settle();
    world.ack(consumer, &"task".into(), 2);
    world.settle();
    assert_eq!(removed(&world), [false, true]);
}

#[test]
fn the_numbers_of_rounds_continue_after_a_replacement_in_flight() {
    let mut world = World::new(60_000, 64, 16);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    world.schedule_on("route", "task", START, 1, true);
    world.run(30_001);
    let rounds: Vec<u32> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.attempt)
        .collect();
    assert_eq!(rounds, [1, 2]);
}

#[test]
fn they_continue_if_the_replacement_is_read_from_disk_before_it_is_reported() {
    let mut world = World::new(1_000, 64, 16);
    let consumer = world.connect(&["route"]);
    // Beyond the window, so that there is something to read.
    world.schedule("far", START + 100_000);
    world.schedule("task", START);
    world.settle();
    world.schedule_on("route", "task", START + 1_500, 1, true);
    world.step(Step::Commit);
    world.step(Step::Pass(900));
    world.step(Step::Tick);
    assert_eq!(world.in_memory(), 2, "both revisions");
    world.step(Step::Tell);
    world.ack(consumer, &"task".into(), 1);
    world.run(1_000);
    let rounds: Vec<u32> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.attempt)
        .collect();
    assert_eq!(rounds, [1, 2]);
}

#[test]
fn a_late_ack_returns_the_credit_of_the_latest_copy_of_the_same_consumer() {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 64, 16);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 1);
    world.schedule("task", START);
    world.run(1_100);
    let [late, latest] = &world.deliveries[..] else {
        panic!("two rounds: {:?}", world.deliveries);
    };
    assert_eq!((late.attempt, latest.attempt), (1, 2));
    let late = late.clone();
    world.ack_delivery(&late);
    world.schedule("next", START);
    world.settle();
    assert_eq!(removed(&world), [true]);
    assert_eq!(&*world.deliveries[2].id, "next", "the credit has returned");
    let next = world.deliveries[2].clone();
    world.ack_delivery(&next);
    // The consumer may have the id again once the round of the latest copy would have ended.
    world.schedule_on("route", "task", START, 1, true);
    world.run(1_000);
    assert_eq!(&*world.deliveries[3].id, "task");
}

#[test]
fn a_round_that_begins_before_its_schedule_is_reported_keeps_its_number() {
    let mut world = World::new(200, 64, 16);
    for _ in 0..3 {
        world.connect(&["route"]);
    }
    let replace = |world: &mut World, payload| {
        world.schedule_on("route", "task", START, payload, true);
    };
    world.schedule("task", START);
    replace(&mut world, 1);
    world.step(Step::Commit);
    replace(&mut world, 2);
    // The copy of the first revision is not sent, as that is gone.
    world.step(Step::Tell);
    world.step(Step::Commit);
    world.step(Step::Tick);
    let read = world.deliveries.last().unwrap().clone();
    let number = |world: &World| {
        world
            .server
            .scheduler()
            .tasks
            .get(read.seq)
            .unwrap()
            .attempt()
    };
    assert_eq!((read.attempt, number(&world)), (1, 1));
    world.step(Step::Tell);
    assert_eq!(number(&world), 1, "what it replaced had two rounds");
    invariants::check(&world);
    world.nack_delivery(&read, Some(0));
    world.settle();
    invariants::check(&world);
    let rounds: Vec<u32> = world.deliveries.iter().map(|it| it.attempt).collect();
    assert_eq!(rounds, [2, 1, 2]);
}
