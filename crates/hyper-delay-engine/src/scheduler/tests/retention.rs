//! Dead letters that are removed because of their age, on the frozen clock.

use std::sync::Arc;

use super::{World, invariants, world::START};
use crate::front::FrontInput;
use crate::scheduler::{NextCall, SchedulerSettings};
use hyper_delay_config::Config;
use hyper_delay_store::{Batch, Durability, Space, Store as _};

fn config(dead_retention_seconds: Option<u64>) -> Config {
    Config {
        max_attempts: Some(1),
        dead_retention_seconds,
        ..Config::default()
    }
}

fn world(dead_retention_seconds: Option<u64>) -> World {
    let mut world = World::with(config(dead_retention_seconds), 60_000, 1000, 100);
    world.connect(&["a", "b", "c"]);
    world
}

/// A task dies now.
fn dies(world: &mut World, route: &str, id: &str) {
    let now = world.now.wall_millis();
    world.schedule_on(route, id, now, 0, false);
    world.settle();
    let delivery = world.deliveries.pop().unwrap();
    world.ask(delivery.consumer, delivery.nack(None, true));
    world.settle();
}

fn dead(world: &World) -> usize {
    assert_eq!(world.on_disk(Space::Names), world.on_disk(Space::Dead));
    invariants::check(world);
    world.on_disk(Space::Dead)
}

#[test]
fn a_dead_letter_is_removed_at_the_end_of_its_retention_and_not_before() {
    let mut world = world(Some(100));
    for (route, tasks) in [("a", 1), ("b", 9), ("c", 2)] {
        for number in 0..tasks {
            dies(&mut world, route, &number.to_string());
        }
    }
    world.run(50_000);
    dies(&mut world, "b", "later");
    world.run(49_999);
    assert_eq!(dead(&world), 13);
    world.run(1);
    assert_eq!(dead(&world), 1);
    assert_eq!(
        world.server.scheduler().metrics().removed_by_age.value(),
        12
    );
    world.run(49_999);
    assert_eq!(dead(&world), 1);
    // Passes have a tenth of the retention between them.
    world.run(10_000);
    assert_eq!(dead(&world), 0);
}

#[test]
fn nothing_is_read_between_passes_and_without_a_retention() {
    for retention in [Some(1_000), None] {
        let mut world = world(retention);
        dies(&mut world, "a", "task");
        world.run(10_000);
        let before = world.store.calls().keys;
        world.run(900_000);
        assert_eq!(world.store.calls().keys, before, "{retention:?}");
        world.run(100_000);
        assert_eq!(dead(&world), usize::from(retention.is_none()));
        if retention.is_none() {
            assert_eq!(world.settle(), NextCall::Never);
        }
    }
}

#[test]
fn a_new_retention_applies_to_the_dead_letters_that_are_there() {
    let mut world = world(None);
    let reload = |world: &mut World, seconds| {
        let settings = SchedulerSettings::from(Arc::new(config(seconds)));
        world.input(FrontInput::Settings(Box::new(settings)));
        world.settle();
    };
    for number in 0..5 {
        dies(&mut world, "a", &number.to_string());
        world.run(1_000);
    }
    reload(&mut world, Some(1_000));
    assert_eq!(dead(&world), 5);
    reload(&mut world, Some(3));
    assert_eq!(dead(&world), 2, "they are one and two seconds old");
    reload(&mut world, None);
    world.run(100_000);
    assert_eq!(dead(&world), 2);
}

#[test]
fn the_age_is_by_the_wall_clock() {
    let mut world = world(Some(100));
    dies(&mut world, "a", "task");
    world.set_clock(-50_000);
    world.run(149_999);
    assert_eq!(dead(&world), 1);
    world.run(1);
    assert_eq!(dead(&world), 0);
    dies(&mut world, "a", "task");
    world.set_clock(90_000);
    world.run(12_000);
    assert_eq!(dead(&world), 0);
    assert_eq!(START + 100_000 + 90_000 + 12_000, world.now.wall_millis());
}

#[test]
fn a_dead_letter_that_is_kicked_meanwhile_stays() {
    let mut world = world(Some(100));
    dies(&mut world, "a", "task");
    world.run(99_000);
    dies(&mut world, "b", "other");
    world.pass(1_000);
    world.server.tick_scheduler(world.now);
    let kick = hyper_delay_protocol::AdminRequest::Kick {
        route: "a".into(),
        id: "task".into(),
    };
    world.operate(kick);
    world.settle();
    assert_eq!(world.on_disk(Space::Names), 1, "the removal came first");

    dies(&mut world, "a", "again");
    world.run(99_500);
    let kick = hyper_delay_protocol::AdminRequest::Kick {
        route: "a".into(),
        id: "again".into(),
    };
    world.operate(kick);
    world.run(20_000);
    assert_eq!(world.on_disk(Space::Names), 1, "it is in flight");
}

#[test]
fn damage_among_the_dead_letters_of_a_route_leaves_the_others_alone() {
    let mut world = world(Some(100));
    dies(&mut world, "a", "task");
    let (key, value) = world.store.all(Space::Dead).remove(0);
    for route in ["b", "c"] {
        dies(&mut world, route, "task");
    }
    let replace = |world: &World, value: &[u8]| {
        let mut batch = Batch::new();
        batch.put(Space::Dead, key.clone(), value);
        world.store.commit(batch, Durability::Synced).unwrap();
    };
    replace(&world, b"\x01");
    world.run(200_000);
    assert_eq!(world.on_disk(Space::Dead), 1);
    replace(&world, &value);
    world.run(60_000);
    assert_eq!(dead(&world), 0);
}

#[test]
fn a_clock_that_was_far_ahead_delays_nothing() {
    const YEAR: i64 = 365 * 86_400_000;
    let mut world = world(Some(100));
    world.set_clock(YEAR);
    world.run(1_000);
    dies(&mut world, "a", "of the future");
    world.run(200_000);
    assert_eq!(dead(&world), 0);
    world.set_clock(-YEAR);
    dies(&mut world, "a", "task");
    world.run(99_999);
    assert_eq!(dead(&world), 1);
    world.run(10_001);
    assert_eq!(dead(&world), 0);
}

#[test]
fn nothing_is_asked_for_while_removals_are_on_their_way() {
    let mut world = world(Some(100));
    for number in 0..10 {
        dies(&mut world, "a", &number.to_string());
    }
    world.pass(100_000);
    let next = world.server.tick_scheduler(world.now);
    assert_ne!(next, NextCall::Now);
    assert!(
        matches!(next, NextCall::At(at) if at > world.now.monotonic) || next == NextCall::Never
    );
    world.settle();
    assert_eq!(dead(&world), 0);
}

#[test]
fn a_pass_reads_no_more_keys_than_there_are_routes_and_old_dead_letters() {
    let mut world = world(Some(100));
    for number in 0..20 {
        dies(&mut world, ["a", "b", "c"][number % 3], &number.to_string());
    }
    world.run(50_000);
    for number in 20..40 {
        dies(&mut world, "a", &number.to_string());
    }
    world.run(49_000);
    let before = world.store.calls().keys;
    world.run(1_000);
    assert_eq!(world.on_disk(Space::Dead), 20);
    let read = world.store.calls().keys - before;
    // Each removal reads the name; each batch reads where it continues.
    assert!(read < 150, "{read} keys");
    let before = world.store.calls().keys;
    world.run(49_000);
    assert_eq!(world.store.calls().keys, before);
}
