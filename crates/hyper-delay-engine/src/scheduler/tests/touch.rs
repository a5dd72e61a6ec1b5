//! Consumers that ask for more time.

use race_wheel::Tick;

use super::{
    World, invariants,
    world::{Delivered, START},
};
use crate::front::FrontInput;
use crate::scheduler::{CopyId, UnsentReason};
use hyper_delay_config::Config;
use hyper_delay_protocol::{Reply, Terms};

fn world() -> World {
    let config = Config {
        hedge: [("hedged".to_owned(), 400)].into(),
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 20,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

/// The deadlines that were replied, relative to the start.
fn deadlines(world: &mut World) -> Vec<Option<u64>> {
    let replies = world.replies.drain(..);
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Touched { deadline, .. } => Some(deadline.map(|at| at - START)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_touched_round_ends_that_much_later_and_never_earlier() {
    let mut world = world();
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    let delivery = world.deliveries[0].clone();
    world.run(500);
    for extend in [Some(1), Some(5_000), None, Some(5_000)] {
        world.touch(&delivery, extend);
    }
    let wanted = [1_000, 5_500, 5_500, 5_500];
    assert_eq!(deadlines(&mut world), wanted.map(Some));
    world.run(4_999);
    assert_eq!(world.deliveries.len(), 1);
    invariants::check(&world);
    world.run(50);
    assert_eq!(world.deliveries.len(), 2, "its time has passed");
    world.touch(&delivery, None);
    assert_eq!(deadlines(&mut world), [None], "the round is over");
}

#[test]
fn only_the_consumer_of_a_copy_in_flight_can_touch_it() {
    let mut world = world();
    let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
    world.schedule("task", START);
    world.settle();
    let delivery = world.deliveries[0].clone();
    assert_eq!(delivery.consumer, first);
    let mut of_another = delivery.clone();
    of_another.consumer = second;
    world.touch(&of_another, None);
    let mut of_another_round = delivery.clone();
    of_another_round.attempt = 2;
    world.touch(&of_another_round, None);
    world.ack_delivery(&delivery);
    world.touch(&delivery, None);
    assert_eq!(deadlines(&mut world), [None; 3]);
}

#[test]
fn a_touch_extends_every_copy_of_a_hedged_round_and_does_not_delay_the_next() {
    let mut world = world();
    let [first, second] = [0; 2].map(|_| world.connect(&["hedged"]));
    world.schedule_on("hedged", "task", START, 0, false);
    world.settle();
    let delivery = world.deliveries[0].clone();
    world.run(300);
    world.touch(&delivery, Some(3_000));
    world.run(100);
    let copies: Vec<u64> = world.deliveries.iter().map(|it| it.consumer).collect();
    assert_eq!(copies, [first, second]);
    world.input(FrontInput::Closed(first));
    world.run(2_899);
    assert_eq!(
        world.deliveries.len(),
        2,
        "the second copy has the longer time"
    );
    invariants::check(&world);
    world.run(50);
    assert_eq!(world.deliveries.len(), 3);
}

/// What the connection tells of a copy that it has not written by the first deadline.
fn not_written(copy: &Delivered, attempt: u32) -> FrontInput {
    let copy = CopyId {
        consumer: copy.consumer,
        seq: copy.seq,
        id: copy.id.clone(),
    };
    let until = Tick::new(1_000_000_000);
    FrontInput::NotSent(copy, UnsentReason::TooLate { attempt, until })
}

#[test]
fn a_copy_that_was_never_written_fails_though_its_round_was_extended() {
    let mut world = world();
    let [first, _] = [0; 2].map(|_| world.connect(&["hedged"]));
    world.schedule_on("hedged", "task", START, 0, false);
    world.run(400);
    let [holder, unwritten] = [0, 1].map(|copy| world.deliveries[copy].clone());
    world.touch(&holder, Some(3_000));
    world.run(600);
    let too_late = |attempt| not_written(&unwritten, attempt);
    world.input(too_late(7));
    invariants::check(&world);
    world.input(too_late(1));
    invariants::check(&world);
    world.input(FrontInput::Closed(first));
    world.run(50);
    assert_eq!(world.deliveries.len(), 3, "no copy of the round was left");
    world.input(too_late(1));
    world.ack_delivery(&world.deliveries[2].clone());
    world.settle();
    assert_eq!(world.in_memory(), 0, "the report names an earlier round");
}

/// Its consumer comes last for the time that it had to answer.
#[test]
fn a_copy_of_a_cancelled_task_is_late_for_as_long_as_it_could_be_answered() {
    let mut world = world();
    let [first, second] = [0; 2].map(|_| world.connect(&["route"]));
    let terms = Terms {
        ack_timeout_ms: Some(100),
        ..Terms::default()
    };
    world.schedule_with(("route", "short"), START, 0, false, Some(terms));
    world.run(50);
    world.cancel("route", "short");
    for (after, to) in [(100, [second, second]), (100, [first, first])] {
        world.run(after);
        let before = world.deliveries.len();
        for id in ["a", "b"] {
            world.schedule(&format!("{id} {after} {before}"), START);
            world.settle();
        }
        let given = world.deliveries[before..].iter().map(|it| it.consumer);
        assert!(given.eq(to), "{before}: {:?}", &world.deliveries[before..]);
    }
}

/// The consumer can receive the id again though the round could have been answered for long.
#[test]
fn a_copy_that_was_never_written_frees_its_id_after_the_round() {
    let mut world = world();
    let [first, _] = [0; 2].map(|_| world.connect(&["hedged"]));
    world.schedule_on("hedged", "task", START, 0, false);
    world.run(400);
    let [holder, unwritten] = [0, 1].map(|copy| world.deliveries[copy].clone());
    world.touch(&holder, Some(3_600_000));
    world.ack_delivery(&holder);
    world.run(600);
    let report = |attempt| not_written(&unwritten, attempt);
    world.input(FrontInput::Closed(first));
    world.schedule_on("hedged", "task", START + 5_000, 1, true);
    world.run(4_000);
    assert_eq!(world.deliveries.len(), 2);
    world.input(report(2));
    world.run(50);
    assert_eq!(world.deliveries.len(), 2, "the report names another round");
    world.input(report(1));
    world.settle();
    assert_eq!(world.deliveries.len(), 3);
    invariants::check(&world);
}
