//! A leader that begins after another one.

mod cancel;
mod detached;
mod removal;
mod waiting_ids;
mod withheld;

use std::time::Duration;

use super::{
    Step, World, invariants,
    world::{Delivered, START},
};
use crate::front::FrontInput;
use crate::scheduler::{ConsumerId, SchedulerInput, UnansweredDelivery};
use hyper_delay_config::Config;
use hyper_delay_protocol::{RegisterMode, Reply};
use hyper_delay_store::Space;

/// A shard that has delivered a task to the only connection, in the round with the number 1.
fn shard() -> (World, ConsumerId) {
    let config = Config {
        credit: 0,
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 20,
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 1000, 3);
    let consumer = world.connect(&["route"]);
    world.lend(consumer, 5);
    world.schedule("task", START);
    world.settle();
    assert_eq!(rounds(&world), [1]);
    (world, consumer)
}

/// Another leader takes over, which has not read the task.
fn take_over(world: &mut World, consumer: ConsumerId) -> UnansweredDelivery {
    let in_flight: Vec<_> = world.server.scheduler().in_flight().collect();
    let [(_, adopted)] = &in_flight[..] else {
        panic!("{in_flight:?}");
    };
    world.take_over(&[consumer]);
    adopted.clone()
}

/// The nodes have reported, and deliveries begin.
fn begin(world: &mut World, consumer: ConsumerId) {
    world.lend(consumer, 5);
    world.lead(SchedulerInput::Registered(
        consumer,
        "route".into(),
        RegisterMode::Shared,
    ));
    world.settle();
    world.lead(SchedulerInput::DeliveriesHeld(false));
    world.settle();
    invariants::check(world);
}

fn rounds(world: &World) -> Vec<u32> {
    world.deliveries.iter().map(|it| it.attempt).collect()
}

fn first(world: &World) -> Delivered {
    world.deliveries[0].clone()
}

/// The answers to acks, and to cancels that found the task.
fn answers(world: &mut World) -> Vec<bool> {
    let replies = world.replies.drain(..);
    let answers = replies.filter_map(|(_, reply)| match reply {
        Reply::Acked { removed, .. } => Some(removed),
        Reply::Cancelled {
            found: true,
            in_flight,
            ..
        } => Some(in_flight),
        _ => None,
    });
    answers.collect()
}

#[test]
fn an_adopted_delivery_is_acknowledged_as_any_other() {
    for is_read in [false, true] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        world.adopt(consumer, adopted);
        if is_read {
            begin(&mut world, consumer);
        }
        world.ack_delivery(&first(&world));
        begin(&mut world, consumer);
        world.run(10_000);
        assert_eq!((rounds(&world), answers(&mut world)), (vec![1], vec![true]));
        assert_eq!((world.on_disk(Space::Tasks), world.in_memory()), (0, 0));
    }
}

#[test]
fn a_task_whose_ack_is_on_its_way_is_not_delivered_when_it_is_read() {
    for adopts in [false, true] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        if adopts {
            world.adopt(consumer, adopted);
        }
        world.ack_by_name(&first(&world));
        world.lend(consumer, 5);
        world.lead(SchedulerInput::Registered(
            consumer,
            "route".into(),
            RegisterMode::Shared,
        ));
        world.lead(SchedulerInput::DeliveriesHeld(false));
        for _ in 0..3 {
            world.step(Step::Tick);
            invariants::check(&world);
        }
        world.settle();
        assert_eq!((rounds(&world), answers(&mut world)), (vec![1], vec![true]));
        assert_eq!(world.in_memory(), 0);
    }
}

#[test]
fn an_adopted_delivery_that_is_not_answered_ends_its_round_when_its_time_is_over() {
    let (mut world, consumer) = shard();
    let adopted = take_over(&mut world, consumer);
    let left = Duration::from_millis(300);
    world.adopt(consumer, UnansweredDelivery { left, ..adopted });
    begin(&mut world, consumer);
    world.run(299);
    assert_eq!(rounds(&world), [1]);
    world.run(21);
    assert_eq!(rounds(&world), [1, 2]);
    // Both acks are accepted: the first one is late.
    world.ack_by_name(&first(&world));
    world.settle();
    assert_eq!(answers(&mut world), [true]);
}

#[test]
fn an_adopted_delivery_that_is_given_back_is_delivered_again_after_the_delay() {
    for is_read in [false, true] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        world.adopt(consumer, adopted);
        if is_read {
            begin(&mut world, consumer);
        }
        world.nack_by_name(&first(&world), Some(500), true);
        begin(&mut world, consumer);
        world.run(499);
        assert_eq!(rounds(&world), [1], "{is_read}");
        world.run(1);
        assert_eq!(rounds(&world), [1, 2], "{is_read}");
    }
}

/// The timers of both have expired when the scheduler is called.
#[test]
fn the_time_of_an_adopted_delivery_can_end_in_the_tick_in_which_its_task_comes_up() {
    let (mut world, consumer) = shard();
    world.nack_by_name(&first(&world), Some(10), true);
    world.settle();
    let delivered = first(&world);
    let adopted = UnansweredDelivery {
        route: delivered.route,
        id: delivered.id,
        seq: delivered.seq,
        attempt: 2,
        left: Duration::from_millis(50),
    };
    world.adopt(consumer, adopted);
    world.pass(100);
    world.step(Step::Tick);
    invariants::check(&world);
    world.settle();
    assert_eq!(rounds(&world), [1], "it has failed: there is a retry delay");
    world.run(20);
    assert_eq!(rounds(&world), [1, 3]);
}

/// The task is parked when no connection has its route, and queued when none has room.
#[test]
fn an_inherited_task_is_not_delivered_when_it_was_parked_or_queued_before() {
    for (is_queued, adopts) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        let other = world.connect(&[]);
        world.lend(other, 5);
        if is_queued {
            world.lead(SchedulerInput::Registered(
                consumer,
                "route".into(),
                RegisterMode::Shared,
            ));
        }
        world.settle();
        assert_eq!(world.in_memory(), usize::from(is_queued));
        let seq = adopted.seq;
        match adopts {
            true => world.adopt(consumer, adopted),
            false => world.withhold(seq, adopted.left),
        }
        world.lead(SchedulerInput::Registered(
            other,
            "route".into(),
            RegisterMode::Shared,
        ));
        begin(&mut world, consumer);
        let case = format!("{is_queued} {adopts}");
        assert_eq!((rounds(&world), world.in_memory()), (vec![1], 1), "{case}");
        world.run(999);
        assert_eq!(rounds(&world), [1], "{case}");
        world.run(21);
        assert_eq!(rounds(&world), [1, 2], "{case}");
    }
}

#[test]
fn a_connection_that_closes_fails_its_adopted_round() {
    for is_read in [false, true] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        world.adopt(consumer, adopted);
        if is_read {
            begin(&mut world, consumer);
        }
        world.input(FrontInput::Closed(consumer));
        let other = world.connect(&["route"]);
        begin(&mut world, other);
        world.run(20);
        assert_eq!(rounds(&world), [1, 2], "{is_read}");
    }
}

#[test]
fn a_touch_extends_an_adopted_delivery_before_and_after_its_task_is_read() {
    for is_read in [false, true] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        world.adopt(consumer, adopted);
        if is_read {
            begin(&mut world, consumer);
        }
        world.touch(&first(&world), Some(3_000));
        let touched = |reply: &(ConsumerId, Reply)| match reply.1 {
            Reply::Touched { deadline, .. } => deadline,
            _ => None,
        };
        let deadline = world.replies.iter().find_map(touched);
        assert_eq!(deadline, Some(START + 3_000), "{is_read}");
        begin(&mut world, consumer);
        world.run(2_999);
        assert_eq!(rounds(&world), [1]);
        invariants::check(&world);
        assert_eq!(world.server.scheduler().in_flight().count(), 1, "{is_read}");
        world.run(21);
        assert_eq!(rounds(&world), [1, 2]);
    }
}

#[test]
fn two_connections_can_report_the_same_delivery() {
    let (mut world, consumer) = shard();
    let other = world.connect(&[]);
    let adopted = take_over(&mut world, consumer);
    world.input(FrontInput::Opened(other));
    world.adopt(consumer, adopted.clone());
    begin(&mut world, consumer);
    for _ in 0..2 {
        world.adopt(other, adopted.clone());
        invariants::check(&world);
    }
    world.nack_by_name(&first(&world), Some(0), true);
    world.run(500);
    assert_eq!(rounds(&world), [1], "the other one has it");
    let consumer = other;
    let copy = Delivered {
        consumer,
        ..first(&world)
    };
    world.ack_by_name(&copy);
    world.settle();
    assert_eq!(answers(&mut world), [true]);
    assert_eq!(world.in_memory(), 0);
}

#[test]
fn a_connection_answers_both_of_two_deliveries_of_one_id_that_it_reports() {
    let (mut world, consumer) = shard();
    let adopted = take_over(&mut world, consumer);
    let route = "other".into();
    let other = UnansweredDelivery {
        route,
        seq: 99,
        ..adopted.clone()
    };
    world.adopt(consumer, other);
    world.adopt(consumer, adopted);
    world.ack_by_name(&first(&world));
    world.settle();
    assert_eq!(answers(&mut world), [true]);
    invariants::check(&world);
}

#[test]
fn an_answer_of_an_earlier_revision_or_round_changes_nothing() {
    let (mut world, consumer) = shard();
    take_over(&mut world, consumer);
    begin(&mut world, consumer);
    assert_eq!(rounds(&world), [1, 1], "nobody reported the first one");
    let delivered = first(&world);
    let seq = delivered.seq + 1;
    world.nack_by_name(
        &Delivered {
            seq,
            ..delivered.clone()
        },
        Some(0),
        true,
    );
    let attempt = 2;
    world.nack_by_name(
        &Delivered {
            attempt,
            ..delivered.clone()
        },
        Some(0),
        true,
    );
    world.ack_by_name(&Delivered {
        seq,
        ..delivered.clone()
    });
    let route = "other".into();
    world.ack_by_name(&Delivered { route, ..delivered });
    world.settle();
    invariants::check(&world);
    assert_eq!(answers(&mut world), [false, false]);
    assert_eq!(rounds(&world), [1, 1]);
}

#[test]
fn while_a_leader_holds_nothing_is_delivered_and_memory_is_bounded() {
    let (mut world, consumer) = shard();
    world.ack_delivery(&first(&world));
    world.lead(SchedulerInput::DeliveriesHeld(true));
    for task in 0..20 {
        world.schedule(&format!("{task}"), START + task);
    }
    world.run(100);
    assert_eq!((rounds(&world), world.in_memory()), (vec![1], 3));
    assert_eq!(world.nodes.accounts[&consumer].wanted, 0);
    world.acking = true;
    world.lead(SchedulerInput::DeliveriesHeld(false));
    world.run(100);
    assert_eq!(world.deliveries.len(), 21);
    assert_eq!(world.on_disk(Space::Tasks), 0);
}
