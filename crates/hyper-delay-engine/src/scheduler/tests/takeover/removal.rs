//! Tasks that are removed, of which another leader has delivered some.

use super::*;
use crate::scheduler::NextCall;
use crate::scheduler::tests::Step;
use hyper_delay_protocol::{BulkAct, Filter, Terms};

const EXPIRES: Terms = Terms {
    expires_at: Some(START + 500),
    ack_timeout_ms: None,
    max_attempts: None,
    retry_delay_ms: None,
    max_retry_delay_ms: None,
};

/// A shard that has delivered a task, which has expired in flight, and another leader, which has not
/// been told so.
fn expired() -> (World, ConsumerId, UnansweredDelivery) {
    let (mut world, consumer) = shard();
    world.ack_delivery(&first(&world));
    world.settle();
    answers(&mut world);
    world.deliveries.clear();
    world.schedule_with(("route", "expires"), START, 0, false, Some(EXPIRES));
    world.run(600);
    assert_eq!((rounds(&world), world.on_disk(Space::Tasks)), (vec![1], 1));
    let adopted = take_over(&mut world, consumer);
    let next = world.settle();
    assert_ne!(next, NextCall::Now, "it waits to be told");
    world.step(Step::Tick);
    assert_eq!(world.on_disk(Space::Tasks), 1);
    (world, consumer, adopted)
}

#[test]
fn an_ack_of_a_task_that_expired_in_flight_counts_after_a_take_over() {
    for comes_up in [false, true] {
        for adopts in [false, true] {
            let (mut world, consumer, adopted) = expired();
            match adopts {
                true => world.adopt(consumer, adopted),
                false => world.withhold(adopted.seq, adopted.left),
            }
            if comes_up {
                begin(&mut world, consumer);
            }
            world.lead(SchedulerInput::DeliveriesHeld(false));
            world.settle();
            invariants::check(&world);
            assert_eq!(world.on_disk(Space::Tasks), 1, "{comes_up} {adopts}");
            world.ack_by_name(&first(&world));
            world.settle();
            assert_eq!(answers(&mut world), [true], "{comes_up} {adopts}");
        }
    }
}

#[test]
fn a_task_that_expired_in_flight_is_removed_when_its_time_to_answer_is_over() {
    for comes_up in [false, true] {
        for adopts in [false, true] {
            let (mut world, consumer, adopted) = expired();
            let left = u64::try_from(adopted.left.as_millis()).unwrap();
            match adopts {
                true => world.adopt(consumer, adopted),
                false => world.withhold(adopted.seq, adopted.left),
            }
            if comes_up {
                begin(&mut world, consumer);
            }
            world.lead(SchedulerInput::DeliveriesHeld(false));
            world.run(left - 1);
            assert_eq!(world.on_disk(Space::Tasks), 1, "{comes_up} {adopts}");
            world.run(1);
            assert_eq!(world.on_disk(Space::Tasks), 0, "{comes_up} {adopts}");
            invariants::check(&world);
        }
    }
}

#[test]
fn a_task_that_expired_in_flight_is_removed_when_no_connection_has_it() {
    for has_consumer in [false, true] {
        let (mut world, consumer, adopted) = expired();
        world.withhold(adopted.seq, adopted.left);
        begin(&mut world, consumer);
        if !has_consumer {
            world.input(FrontInput::Closed(consumer));
        }
        world.gone(adopted.seq, adopted.attempt, false);
        world.settle();
        let is_there = world.on_disk(Space::Tasks);
        assert_eq!((rounds(&world), is_there), (vec![1], 0), "{has_consumer}");
    }
}

#[test]
fn a_purge_that_goes_on_after_a_take_over_leaves_what_is_in_flight() {
    let (mut world, consumer) = shard();
    for id in 0..9 {
        world.schedule(&format!("{id}"), START + 100_000);
    }
    world.settle();
    world.bulk(BulkAct::Purge, "route", Filter::default());
    world.step(Step::Commit);
    let adopted = take_over(&mut world, consumer);
    assert_ne!(world.settle(), NextCall::Now, "it waits to be told");
    assert_eq!(world.on_disk(Space::Names), 10);
    world.adopt(consumer, adopted);
    begin(&mut world, consumer);
    assert_eq!(world.on_disk(Space::Names), 1);
    world.ack_by_name(&first(&world));
    world.settle();
    assert_eq!(answers(&mut world), [true]);
}
