//! Hedged rounds, on the frozen clock.

use super::{World, invariants, world::START};
use crate::front::FrontInput;
use hyper_delay_config::Config;
use hyper_delay_protocol::{AdminRequest, Reply};
use hyper_delay_store::Space;

fn hedged(delay_ms: u64) -> World {
    let config = Config {
        hedge: [("route".to_owned(), delay_ms)].into(),
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

/// To which connections the copies went, and in which round.
fn copies(world: &World) -> Vec<(u64, u32)> {
    let copies = world.deliveries.iter();
    copies.map(|copy| (copy.consumer, copy.attempt)).collect()
}

#[test]
fn the_next_consumer_gets_a_copy_after_the_delay_and_not_before() {
    let mut world = hedged(100);
    let [first, second, third] = [0; 3].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.run(99);
    assert_eq!(copies(&world), [(first, 1)]);
    world.run(1);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
    world.run(100);
    assert_eq!(copies(&world), [(first, 1), (second, 1), (third, 1)]);
}

/// X holds the task, Y registers at about the moment when the next copy is due, Y gives it back, X
/// closes: whatever the order, the task is delivered again.
#[test]
fn a_task_never_sticks_when_its_consumers_come_and_go_around_the_next_copy() {
    for registers_at in 98..=102 {
        for order in 0..2 {
            let mut world = hedged(100);
            let first = world.connect(&["route"]);
            world.schedule("task", START);
            world.run(registers_at);
            let second = world.connect(&["route"]);
            world.run(3);
            let mut steps = [true, false];
            steps.rotate_left(order);
            for nacks in steps {
                if nacks {
                    let copy = world.deliveries.iter().find(|copy| copy.consumer == second);
                    if let Some(copy) = copy.cloned() {
                        world.nack_delivery(&copy, Some(10));
                    }
                } else {
                    world.input(FrontInput::Closed(first));
                }
                world.settle();
                invariants::check(&world);
            }
            let third = world.connect(&["route"]);
            world.run(1_000);
            invariants::check(&world);
            let after = copies(&world)
                .into_iter()
                .filter(|(consumer, _)| *consumer == third);
            let second_again = copies(&world).contains(&(second, 2));
            assert!(
                after.count() > 0 || second_again,
                "registered at {registers_at}"
            );
        }
    }
}

#[test]
fn a_round_ends_at_the_ack_timeout_of_its_first_copy() {
    let mut world = hedged(400);
    let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.run(999);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
    world.run(25);
    assert_eq!(copies(&world).len(), 3, "{:?}", copies(&world));
    assert_eq!(copies(&world)[2].1, 2);
}

#[test]
fn a_round_ends_at_its_ack_timeout_even_if_consumers_are_left() {
    let mut world = hedged(600);
    let [first, second, _third] = [0; 3].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.run(1_300);
    assert_eq!(copies(&world)[..2], [(first, 1), (second, 1)]);
    assert_eq!(copies(&world)[2].1, 2);
}

#[test]
fn a_consumer_that_registers_before_the_next_copy_is_due_gets_it() {
    let mut world = hedged(100);
    let first = world.connect(&["route"]);
    world.schedule("task", START);
    world.run(99);
    let second = world.connect(&["route"]);
    world.run(1);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
}

#[test]
fn no_copy_is_sent_after_the_end_of_its_round() {
    for nacks in [false, true] {
        let mut world = hedged(950);
        let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
        world.schedule("task", START);
        world.run(945);
        // The scheduler comes after the next copy and the end of the round, and is not so late that it
        // is a stall.
        world.pass(95);
        if nacks {
            let copy = world.deliveries[0].clone();
            world.nack_delivery(&copy, None);
        }
        world.tick();
        assert_eq!(copies(&world), [(first, 1)]);
        world.run(30);
        assert_eq!(copies(&world)[1..], [(second, 2)], "it is no suspect");
        invariants::check(&world);
    }
}

#[test]
fn a_round_gets_no_further_copies_once_its_route_is_paused() {
    let mut world = hedged(100);
    let [first, second, _third] = [0; 3].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.run(150);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
    let pause = AdminRequest::Pause {
        route: "route".into(),
    };
    world.operate(pause);
    world.run(800);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
    // Those in flight can be answered.
    let copy = world.deliveries[1].clone();
    world.ack_delivery(&copy);
    world.settle();
    assert_eq!(world.on_disk(Space::Names), 0);
    invariants::check(&world);
}

#[test]
fn a_late_ack_of_any_copy_finishes_the_task() {
    for copy in 0..2 {
        let mut world = hedged(400);
        world.connect(&["route"]);
        world.connect(&["route"]);
        world.schedule("task", START);
        world.run(1_001);
        let copy = world.deliveries[copy].clone();
        world.ack_delivery(&copy);
        world.run(10_000);
        let removed = |reply: &Reply| matches!(reply, Reply::Acked { removed: true, .. });
        assert!(world.replies.iter().any(|(_, reply)| removed(reply)));
        assert_eq!(copies(&world).len(), 2);
        assert_eq!(world.in_memory(), 0);
    }
}

#[test]
fn a_consumer_that_registers_after_the_next_copy_was_due_gets_none() {
    let mut world = hedged(100);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.run(100);
    let second = world.connect(&["route"]);
    world.run(800);
    assert!(
        copies(&world)
            .iter()
            .all(|(consumer, _)| *consumer != second)
    );
}

#[test]
fn the_credit_of_the_losers_returns_with_the_ack_of_the_winner() {
    let mut world = hedged(100);
    let [first, second] = [0; 2].map(|_| world.connect(&[]));
    for consumer in [first, second] {
        world.register_with_credit(consumer, "route", 1);
    }
    world.schedule("task", START);
    world.run(100);
    assert_eq!(copies(&world), [(first, 1), (second, 1)]);
    world.schedule("next", START);
    world.settle();
    assert_eq!(copies(&world).len(), 2, "no consumer has room");
    let won = world.deliveries[1].clone();
    world.ack_delivery(&won);
    world.run(100);
    let next: Vec<_> = world.deliveries[2..].iter().collect();
    assert!(next.iter().all(|copy| *copy.id == *"next"));
    assert_eq!(next.len(), 2, "both consumers have room");
}

/// It is as unknown after its time as before: nothing is written for it.
#[test]
fn a_late_answer_to_a_lost_copy_changes_nothing() {
    for after in [0, 2_000] {
        let mut world = hedged(100);
        for _ in 0..2 {
            world.connect(&["route"]);
        }
        world.schedule("task", START);
        world.run(100);
        let copies = world.deliveries.clone();
        world.ack_delivery(&copies[0]);
        world.run(after);
        world.replies.clear();
        world.ack_delivery(&copies[1]);
        assert_eq!(world.committer.jobs.len(), 0, "{after} ms later");
        let [(_, Reply::Acked { removed, .. })] = &world.replies[..] else {
            panic!("{:?}", world.replies);
        };
        assert!(!removed);
        assert_eq!(world.server.metrics().unknown_answers.value(), 1);
        invariants::check(&world);
    }
}

#[test]
fn a_lost_copy_that_is_given_back_is_forgotten() {
    let mut world = hedged(100);
    for _ in 0..2 {
        world.connect(&["route"]);
    }
    world.schedule("task", START);
    world.run(100);
    let copies = world.deliveries.clone();
    world.ack_delivery(&copies[0]);
    world.settle();
    world.nack_delivery(&copies[1], None);
    world.ack_delivery(&copies[1]);
    assert_eq!(world.committer.jobs.len(), 0);
    let front = world.server.front();
    let known = front.delivery(copies[1].consumer, "task", (copies[1].seq, 1));
    assert!(known.is_none(), "{known:?}");
}

#[test]
fn a_copy_that_was_read_before_the_damage_can_be_acknowledged() {
    let mut world = hedged(100);
    for _ in 0..3 {
        world.connect(&["route"]);
    }
    world.schedule("task", START);
    world.settle();
    let read = world.deliveries[0].clone();
    world.unreadable.insert(read.seq);
    world.run(500);
    assert_eq!(world.on_disk(Space::Dead), 0);
    world.ack_delivery(&read);
    world.settle();
    let removed = |reply: &Reply| matches!(reply, Reply::Acked { removed: true, .. });
    assert!(world.replies.iter().any(|(_, reply)| removed(reply)));
    assert_eq!(world.on_disk(Space::Names), 0);
    assert_eq!(world.deliveries.len(), 1);
}

#[test]
fn a_damaged_task_is_dead_once_the_last_copy_that_was_read_has_failed() {
    let mut world = hedged(100);
    world.connect(&["route"]);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let read = world.deliveries[0].clone();
    world.unreadable.insert(read.seq);
    world.run(500);
    world.nack_delivery(&read, Some(10));
    world.run(100);
    assert_eq!(world.on_disk(Space::Dead), 1);
    invariants::check(&world);
}

#[test]
fn a_consumer_gets_no_copy_that_it_could_take_for_an_older_one() {
    let mut world = hedged(100);
    let first = world.connect(&["route"]);
    world.schedule("task", START);
    world.run(2_500);
    assert_eq!(copies(&world)[..2], [(first, 1), (first, 2)]);
    world.cancel("route", "task");
    world.settle();
    let before = copies(&world).len();
    let second = world.connect(&["route"]);
    world.schedule("task", world.now.wall_millis());
    world.run(300);
    // The first consumer has copies of this name and of rounds 1 and 2 unanswered.
    assert_eq!(copies(&world)[before..], [(second, 1)]);
}
