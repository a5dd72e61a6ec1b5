//! Ends of rounds that are no failures: nothing was written, or the consumer says so.

use super::{Step, World, world::START};
use crate::front::FrontInput;
use crate::scheduler::ConsumerId;
use hyper_delay_config::Config;
use hyper_delay_store::Space;

/// Rounds that fail are due again after 500 to 1,000 ms, and the third one is the last.
fn config() -> Config {
    Config {
        ack_timeout_ms: 10_000,
        retry_delay_ms: 1_000,
        max_attempts: Some(3),
        ..Config::default()
    }
}

/// In this time a consumer gets what another one has declined.
const SOON: u64 = 21;

fn world() -> World {
    World::with(config(), 60_000, 1_000, 100)
}

/// To which connections the task went, and in which round.
fn rounds(world: &World) -> Vec<(ConsumerId, u32)> {
    let rounds = world.deliveries.iter();
    rounds.map(|it| (it.consumer, it.attempt)).collect()
}

/// The latest delivery is declined.
fn give_back(world: &mut World, delay_ms: Option<u64>) {
    let delivered = world.deliveries.last().unwrap().clone();
    world.give_back(&delivered, delay_ms);
    world.settle();
}

fn failures(world: &World) -> Option<u32> {
    let mut tasks = world.server.scheduler().tasks.iter();
    tasks.next().map(|(_, task, _)| task.failures())
}

fn is_dead(world: &World) -> bool {
    world.on_disk(Space::Dead) == 1
}

#[test]
fn what_is_given_back_unharmed_is_due_at_once_for_others_and_later_for_the_same() {
    let mut world = world();
    let [first, second, third] = [0; 3].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.settle();
    give_back(&mut world, None);
    give_back(&mut world, None);
    assert_eq!(rounds(&world), [(first, 1), (second, 2), (third, 3)]);
    give_back(&mut world, None);
    world.run(499);
    assert_eq!(rounds(&world).len(), 3, "all rest for the first backoff");
    world.run(501);
    assert_eq!(rounds(&world).len(), 4);
    assert_eq!(failures(&world), Some(0));
}

#[test]
fn a_consumer_that_comes_gets_what_another_one_has_given_back_at_once() {
    let mut world = world();
    let first = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    give_back(&mut world, None);
    world.run(100);
    let second = world.connect(&["route"]);
    world.run(SOON);
    assert_eq!(rounds(&world), [(first, 1), (second, 2)]);
}

#[test]
fn a_consumer_that_gets_room_gets_what_another_one_has_given_back() {
    let mut world = world();
    let first = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let second = world.connect(&[]);
    world.register_with_credit(second, "route", 1);
    world.schedule("other", START);
    world.settle();
    assert_eq!(rounds(&world), [(first, 1), (second, 1)]);
    let given = world.deliveries[0].clone();
    world.give_back(&given, None);
    world.settle();
    assert_eq!(
        rounds(&world).len(),
        2,
        "the one rests, the other has no room"
    );
    world.run(100);
    let other = world.deliveries[1].clone();
    world.ack_delivery(&other);
    world.run(SOON);
    assert_eq!(rounds(&world)[2..], [(second, 2)]);
}

/// Also behind many that it does not get yet.
#[test]
fn a_consumer_that_rests_gets_other_tasks() {
    let mut world = World::with(config(), 60_000, 10_000, 1_000);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 300);
    for number in 0..250 {
        world.schedule(&format!("task {number}"), START);
    }
    world.settle();
    assert_eq!(world.deliveries.len(), 250);
    for delivered in world.deliveries.clone() {
        world.give_back(&delivered, None);
    }
    world.settle();
    assert_eq!(world.deliveries.len(), 250);
    world.schedule("other", START);
    world.settle();
    assert_eq!(&*world.deliveries[250].id, "other");
    world.run(1_000);
    assert_eq!(world.deliveries.len(), 501, "each of them again");
    let latest = world.deliveries[251..].iter();
    assert!(latest.clone().all(|it| it.attempt == 2));
    let rests = latest.map(|it| it.at).min().unwrap();
    assert!(rests >= START + 500, "{rests}");
}

/// Also if the route has more due tasks than its queue takes.
#[test]
fn a_consumer_that_declines_everything_gets_each_task_once_in_its_backoff() {
    const TASKS: usize = 60;
    let mut world = World::with(config(), 60_000, 1_000, 4);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 10);
    for number in 0..TASKS {
        world.schedule(&format!("task {number}"), START);
    }
    let mut declined = 0;
    for _ in 0..40 {
        world.run(10);
        while let Some(delivered) = world.deliveries.get(declined).cloned() {
            declined += 1;
            world.give_back(&delivered, None);
            world.settle();
        }
    }
    assert_eq!(declined, TASKS, "in 400 ms");
    assert!(world.delivered().values().all(|times| *times == 1));
    // Another one gets all of them.
    let other = world.connect(&[]);
    world.register_with_credit(other, "route", 100);
    world.run(SOON + 4);
    assert_eq!(world.deliveries.len(), 2 * TASKS);
}

/// With a long first backoff, most of a large backlog is put off, and not kept in memory.
#[test]
fn what_is_declined_takes_no_more_memory_than_the_window() {
    const TASKS: usize = 300;
    const WINDOW: usize = 40;
    let config = Config {
        retry_delay_ms: 3_600_000,
        ..config()
    };
    let mut world = World::with(config, 60_000, WINDOW, 4);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 4);
    for number in 0..TASKS {
        world.schedule(&format!("task {number}"), START);
    }
    let mut declined = 0;
    while declined < TASKS {
        world.run(10);
        let before = declined;
        while let Some(delivered) = world.deliveries.get(declined).cloned() {
            declined += 1;
            world.give_back(&delivered, None);
            world.settle();
            assert!(world.in_memory() <= 2 * WINDOW + 1, "{}", world.in_memory());
        }
        assert!(declined > before, "{declined} of {TASKS}");
    }
    assert!(world.delivered().values().all(|times| *times == 1));
    // What is due in the near future is read nevertheless.
    for number in 0..10 {
        world.schedule(&format!("soon {number}"), START + 60_000 + number);
    }
    let passed = world.now.wall_millis() - START;
    world.run(60_010 - passed);
    let soon = world.deliveries[TASKS..].iter();
    let soon = soon.filter(|it| it.id.starts_with("soon"));
    assert_eq!(soon.count(), 4, "the credit");
    // Others get each of them after the backoff, however it waits.
    for _ in 0..3 {
        world.connect(&["route"]);
    }
    world.run(3_600_000);
    let delivered = world.delivered();
    let again = delivered.iter().filter(|(id, _)| id.starts_with("task"));
    let missing: Vec<_> = again.filter(|(_, times)| **times < 2).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_delay_counts_for_all() {
    let mut world = world();
    let first = world.connect(&["route"]);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    give_back(&mut world, Some(3_000));
    world.run(2_999);
    assert_eq!(rounds(&world), [(first, 1)]);
    world.run(1);
    assert_eq!(rounds(&world).len(), 2);
    assert_eq!(failures(&world), Some(0));
}

#[test]
fn from_the_eleventh_in_a_row_on_each_is_a_failure() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    for round in 1..=13 {
        assert_eq!(world.deliveries.len(), round);
        let failures = failures(&world).unwrap();
        assert_eq!(failures as usize, round.saturating_sub(11), "{round}");
        let retries = world.server.scheduler().metrics.retries.value();
        assert_eq!(retries, u64::from(failures), "{round}");
        give_back(&mut world, None);
        world.run(4_000);
    }
    assert!(is_dead(&world), "the last three were failures");
}

#[test]
fn a_failure_ends_the_row() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    for failed in 1..=2 {
        for _ in 0..10 {
            give_back(&mut world, None);
            world.run(4_000);
        }
        let delivered = world.deliveries.last().unwrap().clone();
        world.nack_delivery(&delivered, None);
        world.run(4_000);
        assert_eq!(failures(&world), Some(failed));
    }
}

/// Whatever the order, one copy that has failed makes a failed round.
#[test]
fn a_hedged_round_has_failed_unless_all_its_copies_were_given_back_unharmed() {
    for (has_first_failed, has_second_failed) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let config = Config {
            hedge: [("route".to_owned(), 100)].into(),
            ..config()
        };
        let mut world = World::with(config, 60_000, 1_000, 100);
        let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
        world.schedule("task", START);
        world.run(100);
        assert_eq!(rounds(&world), [(first, 1), (second, 1)]);
        let copies = world.deliveries.clone();
        for (copy, has_failed) in copies.iter().zip([has_first_failed, has_second_failed]) {
            match has_failed {
                true => world.nack_delivery(copy, None),
                false => world.give_back(copy, None),
            }
        }
        world.settle();
        let has_failed = has_first_failed || has_second_failed;
        assert_eq!(failures(&world), Some(u32::from(has_failed)));
        world.run(400);
        assert_eq!(rounds(&world).len(), 2, "both rest");
        let third = world.connect(&["route"]);
        world.run(SOON);
        let is_with_third = rounds(&world).contains(&(third, 2));
        assert_eq!(is_with_third, !has_failed, "it is due for others");
    }
}

#[test]
fn what_a_closed_connection_was_not_written_has_not_failed() {
    let mut world = world();
    let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
    world.schedule("written", START);
    world.settle();
    world.sockets.block(second);
    world.schedule("unwritten", START);
    world.settle();
    assert_eq!(rounds(&world), [(first, 1)]);
    world.close(second);
    world.settle();
    assert_eq!(rounds(&world)[1..], [(first, 2)]);
    assert!(world.deliveries[1].id == "unwritten".into());
    world.close(first);
    world.settle();
    let tasks = world.server.scheduler().tasks.iter();
    let failures = tasks.map(|(_, task, _)| (task.id.to_string(), task.failures()));
    let mut failures: Vec<_> = failures.collect();
    failures.sort();
    let expected = [("unwritten", 1), ("written", 1)];
    assert_eq!(failures, expected.map(|(id, it)| (id.to_owned(), it)));
}

#[test]
fn what_a_consumer_takes_no_bytes_of_is_with_another_one_before_its_time_is_over() {
    let mut world = world();
    let first = world.connect(&["route"]);
    world.sockets.block(first);
    world.schedule("task", START);
    world.run(8_999);
    let second = world.connect(&["route"]);
    world.settle();
    assert!(rounds(&world).is_empty());
    world.run(1);
    world.settle();
    assert_eq!(rounds(&world), [(second, 2)], "a tenth before the end");
    assert_eq!(failures(&world), Some(0));
    world.unblock(first);
    assert_eq!(rounds(&world).len(), 1, "it is not written late");
    // The one that took nothing comes last.
    world.schedule("other", START);
    world.settle();
    assert_eq!(rounds(&world)[1..], [(second, 1)]);
}

#[test]
fn the_round_is_counted_on_disk_and_the_failure_is_not() {
    let mut world = world();
    let first = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    give_back(&mut world, None);
    world.restart();
    world.step(Step::Tick);
    let second = world.connect(&["route"]);
    world.settle();
    assert_eq!(rounds(&world), [(first, 1), (second, 2)]);
    assert_eq!(failures(&world), Some(0));
    // A consumer that is gone does not rest.
    world.input(FrontInput::Closed(second));
    world.settle();
    assert_eq!(failures(&world), Some(1));
}
