//! The edge of the window: no task that is committed while the horizon moves is missed.

use super::{
    Step, World,
    world::{Delivered, START},
};
use hyper_delay_store::{
    ReadStore as _, Space,
    record::{self, key},
};

const MILLIS: u64 = 100;

/// The steps that interact at the edge of a window of 100 ms: schedules for its middle, where the
/// next part is read, and just before, at and after its edge; a commit; the notice of a commit; a
/// tick; and time that passes.
const STEPS: [Step; 8] = [
    Step::Schedule(MILLIS / 2),
    Step::Schedule(MILLIS - 1),
    Step::Schedule(MILLIS),
    Step::Schedule(MILLIS + 1),
    Step::Commit,
    Step::Tell,
    Step::Tick,
    Step::Pass(MILLIS / 2),
];

/// Plays every sequence of `length` steps and checks that each task is delivered exactly once.
fn play_every_sequence(length: u32, window_tasks: usize) {
    let count = (STEPS.len() as u64).pow(length);
    for number in 0..count {
        let mut world = World::new(MILLIS, window_tasks, 8);
        let consumer = world.connect(&["route"]);
        let mut rest = number;
        let mut steps = Vec::new();
        for _ in 0..length {
            let step = STEPS[(rest % STEPS.len() as u64) as usize];
            rest /= STEPS.len() as u64;
            steps.push(step);
            world.step(step);
        }
        world.run(1000);
        let tasks = steps
            .iter()
            .filter(|step| matches!(step, Step::Schedule(_)))
            .count();
        let delivered = world.delivered();
        assert_eq!(delivered.len(), tasks, "{steps:?}");
        assert!(delivered.values().all(|times| *times == 1), "{steps:?}");
        for delivered in &world.deliveries {
            assert_eq!(delivered.consumer, consumer);
            assert!(delivered.at >= START, "{delivered:?}");
        }
    }
}

/// Steps of a sequence in an ordinary run of the tests. `HYPER_DELAY_STEPS` replaces it.
const LENGTH: u32 = 4;

fn length() -> u32 {
    let steps = std::env::var("HYPER_DELAY_STEPS").ok();
    steps.map_or(LENGTH, |steps| steps.parse().expect("it is a number"))
}

#[test]
fn tasks_committed_during_a_refill_are_delivered_once() {
    play_every_sequence(length(), 1000);
}

#[test]
fn tasks_committed_during_a_refill_of_a_full_window_are_delivered_once() {
    play_every_sequence(length(), 1);
}

#[test]
#[ignore = "two million sequences: some minutes in release"]
fn longer_sequences_deliver_each_task_once() {
    play_every_sequence(7, 1000);
    play_every_sequence(7, 2);
}

#[test]
fn tasks_dropped_from_a_full_window_are_read_again() {
    let mut world = World::new(60_000, 10, 100);
    world.acking = true;
    world.connect(&["route"]);
    for task in 0..100 {
        world.schedule(&format!("{task}"), START + 1000 + task * 13);
    }
    world.settle();
    assert!(world.in_memory() <= 11);
    assert_eq!(world.on_disk(Space::Waiting), 100);
    world.run(10_000);
    assert_eq!(world.delivered().len(), 100);
    for Delivered { id, at, .. } in &world.deliveries {
        assert_eq!(*at, START + 1000 + id.parse::<u64>().unwrap() * 13);
    }
}

#[test]
fn a_window_that_one_task_too_many_is_read_into_is_not_read_forever() {
    for window in 1..=12 {
        for tasks in 1..=3 * window {
            let mut world = World::new(60_000, window, 100);
            for task in 0..tasks {
                world.schedule(&format!("{task}"), START + 1000 + task as u64);
            }
            world.settle();
            world.restart();
            world.acking = true;
            world.connect(&["route"]);
            world.settle();
            world.run(2_000);
            assert_eq!(world.delivered().len(), tasks, "{window}");
        }
    }
}

#[test]
fn waiting_tasks_are_delivered_on_time_after_a_restart() {
    let mut world = World::new(60_000, 1000, 100);
    for task in 0..50 {
        world.schedule(&format!("{task}"), START + task * 7000);
    }
    world.settle();
    world.restart();
    world.acking = true;
    world.connect(&["route"]);
    world.run(400_000);
    assert_eq!(world.delivered().len(), 50);
    for Delivered { id, at, .. } in &world.deliveries {
        assert_eq!(*at, START + id.parse::<u64>().unwrap() * 7000);
    }
}

#[test]
fn an_idle_server_writes_nothing() {
    let mut world = World::new(30_000, 100, 8);
    world.schedule("soon", START + 1_000);
    world.schedule("tomorrow", START + 86_400_000);
    let consumer = world.connect(&["route"]);
    world.run(2_000);
    world.ack(consumer, &"soon".into(), 1);
    // The mark passes what was removed.
    world.run(30_000);
    let written = world.store.calls().commits;
    world.run(300_000);
    assert_eq!(world.store.calls().commits, written);
    let mark = world.store.get(Space::Meta, key::LOW_WATER).unwrap();
    let mark: u64 = record::decode(&mark.expect("there is one")).unwrap();
    assert!(
        mark > START + 1_000,
        "a start steps over the task that is gone"
    );
}
