//! The edge of the window: what is committed while the horizon moves must not fall in between.

use super::{
    Step, World,
    world::{Delivered, START},
};
use crate::store::Space;

const MILLIS: u64 = 100;

/// Everything that can meet at the edge of a window of 100 ms: a task just before the half at which more is read,
/// at the edge, one beyond it; a commit; its news; a look at the clock; time, up to the edge and beyond.
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

/// Every order of so many steps.
fn every_order(length: u32, window_tasks: usize) {
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

#[test]
fn nothing_falls_between_a_commit_and_a_refill() {
    every_order(5, 1000);
}

#[test]
fn nothing_falls_between_when_the_window_is_full_too() {
    every_order(5, 1);
}

#[test]
#[ignore = "two million orders: some minutes in release"]
fn nothing_falls_between_in_longer_orders() {
    every_order(7, 1000);
    every_order(7, 2);
}

#[test]
fn a_full_window_comes_back_to_what_it_dropped() {
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
fn a_start_reads_what_waits_and_delivers_it_in_time() {
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
