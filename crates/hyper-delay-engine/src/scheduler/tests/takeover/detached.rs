//! Connections whose node cannot be reached for a while.

use std::time::Duration;

use super::{begin, first, rounds, shard};
use crate::scheduler::tests::invariants;
use crate::scheduler::{
    ConsumerId, CopyId, SchedulerInput, UnansweredDelivery, UnsentReason,
    tests::{World, world::START},
};
use hyper_delay_config::Config;
use hyper_delay_protocol::Reply;

/// The connection of the only delivery is detached. Returns what it has.
fn detach(world: &mut World, consumer: ConsumerId) -> UnansweredDelivery {
    let copies = world.detach(consumer);
    invariants::check(world);
    let [copy] = &copies[..] else {
        panic!("{copies:?}");
    };
    copy.clone()
}

#[test]
fn a_delivery_of_a_connection_that_is_back_in_time_is_not_repeated() {
    let (mut world, consumer) = shard();
    let copy = detach(&mut world, consumer);
    let back = world.connect(&[]);
    begin(&mut world, back);
    world.run(500);
    let left = Duration::from_millis(500);
    world.adopt(back, UnansweredDelivery { left, ..copy });
    let mut delivery = first(&world);
    delivery.consumer = back;
    world.ack_by_name(&delivery);
    world.run(2_000);
    assert_eq!(rounds(&world), [1]);
    let acked =
        |(_, reply): &(ConsumerId, Reply)| matches!(reply, Reply::Acked { removed: true, .. });
    assert!(world.replies.iter().any(acked));
}

#[test]
fn a_delivery_of_a_connection_that_stays_away_times_out_as_any_other() {
    let (mut world, consumer) = shard();
    detach(&mut world, consumer);
    let other = world.connect(&[]);
    begin(&mut world, other);
    world.run(999);
    assert_eq!(rounds(&world), [1]);
    world.run(1);
    assert_eq!(rounds(&world), [1], "it has failed: there is a retry delay");
    world.run(20);
    assert_eq!(rounds(&world), [1, 2]);
    invariants::check(&world);
}

#[test]
fn a_delivery_that_is_gone_when_its_node_is_back_has_failed() {
    let (mut world, consumer) = shard();
    let copy = detach(&mut world, consumer);
    let other = world.connect(&[]);
    begin(&mut world, other);
    world.run(100);
    world.gone(copy.seq, copy.attempt, true);
    assert_eq!(rounds(&world), [1]);
    world.run(20);
    assert_eq!(rounds(&world), [1, 2]);
    world.gone(copy.seq, copy.attempt, true);
    world.run(500);
    assert_eq!(rounds(&world), [1, 2], "it is not of that round");
    invariants::check(&world);
}

#[test]
fn a_delivery_that_was_lost_with_the_link_is_sent_again_at_once_and_has_not_failed() {
    let (mut world, consumer) = shard();
    let copy = detach(&mut world, consumer);
    let other = world.connect(&[]);
    begin(&mut world, other);
    world.run(100);
    assert_eq!(rounds(&world), [1]);
    world.gone(copy.seq, copy.attempt, false);
    world.settle();
    assert_eq!(rounds(&world), [1, 2]);
    invariants::check(&world);
}

#[test]
fn a_task_of_which_one_copy_was_not_sent_waits_for_the_other_one() {
    for has_failed in [false, true] {
        let mut world = hedged();
        let consumers = [1, 2].map(|_| {
            let consumer = world.connect(&["route"]);
            world.lend(consumer, 5);
            consumer
        });
        world.schedule("task", START);
        world.run(100);
        assert_eq!(rounds(&world), [1, 1]);
        let [first, second] = consumers.map(|consumer| detach(&mut world, consumer));
        let back = world.connect(&["route"]);
        world.lend(back, 5);
        let attempt = first.attempt;
        let copy = CopyId {
            consumer: back,
            seq: first.seq,
            id: first.id.clone(),
        };
        world.adopt(back, first);
        world.lead(SchedulerInput::NotSent(
            copy,
            UnsentReason::Void { attempt },
        ));
        world.settle();
        invariants::check(&world);
        assert_eq!(rounds(&world), [1, 1], "the other one may be there");
        world.gone(second.seq, second.attempt, has_failed);
        world.settle();
        let again = if has_failed { 2 } else { 3 };
        assert_eq!(rounds(&world).len(), again);
        world.run(20);
        assert_eq!(rounds(&world), [1, 1, 2]);
        invariants::check(&world);
    }
}

fn hedged() -> World {
    let config = Config {
        credit: 0,
        hedge: [("route".to_owned(), 50)].into(),
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 20,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 3)
}

#[test]
fn a_late_ack_of_a_connection_that_stayed_away_finishes_the_task() {
    let (mut world, consumer) = shard();
    detach(&mut world, consumer);
    let back = world.connect(&[]);
    world.run(2_000);
    let mut delivery = first(&world);
    delivery.consumer = back;
    world.ack_by_name(&delivery);
    begin(&mut world, back);
    world.run(2_000);
    assert_eq!(rounds(&world), [1]);
}
