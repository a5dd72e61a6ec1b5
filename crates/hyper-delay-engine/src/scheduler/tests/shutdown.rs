//! A server that ends finishes what is in flight and begins nothing.

use super::{Step, World, world::START};
use crate::front::FrontInput;
use crate::scheduler::{CopyId, NextCall, UnsentReason};
use hyper_delay_config::Config;
use hyper_delay_protocol::TaskRequest;
use hyper_delay_store::Space;

#[test]
fn an_ending_server_fails_no_round() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    world.input(FrontInput::ShuttingDown);
    world.input(FrontInput::Closed(consumer));
    world.settle();
    world.restart();
    world.connect(&["route"]);
    world.settle();
    let rounds: Vec<u32> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.attempt)
        .collect();
    assert_eq!(rounds, [1, 1], "at once, and without a failure");
}

#[test]
fn an_ending_server_settles_with_overdue_tasks_and_a_stream_of_due_ones() {
    const OVERDUE: u64 = 20_000;
    const STREAM: u64 = 1000;
    let mut world = World::new(60_000, 4096, 16);
    for task in 0..OVERDUE {
        world.schedule(&format!("overdue {task}"), START + 1000);
    }
    for task in 0..STREAM {
        world.schedule(&format!("{task}"), START + 500_000 + task);
    }
    world.step(Step::Commit);
    world.restart();
    world.pass(500_000);
    let consumer = world.connect(&["other"]);
    world.schedule_on("other", "in flight", START, 0, false);
    for _ in 0..3 {
        world.step(Step::Commit);
        world.step(Step::Tell);
        world.tick();
    }
    let parked = world.on_disk(Space::Parked);
    assert!(
        !world.committer.jobs.is_empty() && parked > 0,
        "tasks are being parked"
    );

    world.schedule("new", START);
    world.input(FrontInput::ShuttingDown);
    let delivered = world.deliveries[0].clone();
    assert_eq!(
        (delivered.consumer, &*delivered.id),
        (consumer, "in flight")
    );
    world.ack_delivery(&delivered);
    for _ in 0..STREAM {
        world.step(Step::Commit);
        world.step(Step::Tell);
        world.pass(1);
        assert_eq!(
            world.tick(),
            NextCall::Never,
            "only an input can change anything"
        );
        assert!(world.server.scheduler().is_settled());
    }
    assert_eq!(world.on_disk(Space::Tasks) as u64, OVERDUE + STREAM + 1);

    world.acking = true;
    world.restart();
    world.connect(&["route"]);
    world.run(10_000);
    assert_eq!(
        world.on_disk(Space::Tasks),
        0,
        "the next start delivers all"
    );
    let delivered = world.delivered();
    assert_eq!(delivered.len() as u64, OVERDUE + STREAM + 2);
    assert!(delivered.values().all(|times| *times == 1));
}

#[test]
fn an_ending_server_leaves_ready_tasks_of_an_unregistered_route_as_they_are() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 1);
    for task in ["1", "2", "3"] {
        world.schedule(task, START);
    }
    world.settle();
    world.input(FrontInput::ShuttingDown);
    let route = "route".into();
    world.ask(consumer, TaskRequest::Unregister { route });
    assert_eq!(world.tick(), NextCall::Never);
    assert!(world.server.scheduler().is_settled());
    world.restart();
    world.acking = true;
    world.connect(&["route"]);
    world.settle();
    assert_eq!(world.on_disk(Space::Tasks), 0);
}

#[test]
fn a_copy_that_was_not_written_in_time_fails_no_round_while_the_server_ends() {
    let config = Config {
        max_attempts: Some(1),
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 64, 16);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let delivery = world.deliveries[0].clone();
    world.input(FrontInput::ShuttingDown);
    world.input(FrontInput::NotSent(
        CopyId {
            consumer: delivery.consumer,
            seq: delivery.seq,
            id: delivery.id.clone(),
        },
        UnsentReason::TooLate {
            attempt: 1,
            until: world.now.monotonic,
        },
    ));
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 0);
    assert_eq!(world.on_disk(Space::Waiting), 1);
}
