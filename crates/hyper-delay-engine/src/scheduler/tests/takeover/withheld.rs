//! Deliveries that were in flight at a planned hand-over.

use std::time::Duration;

use super::{begin, first, rounds, shard, take_over};
use crate::front::FrontInput;
use crate::scheduler::tests::invariants;
use crate::scheduler::{UnansweredDelivery, tests::world::Delivered};

#[test]
fn a_delivery_that_nobody_reports_is_withheld_for_its_time_and_its_round_counts() {
    let (mut world, consumer) = shard();
    let withheld = world.withheld_next();
    let seq = first(&world).seq;
    assert_eq!(withheld, [(seq, Duration::from_secs(1))]);
    world.take_over(&[consumer]);
    world.withhold(seq, withheld[0].1);
    begin(&mut world, consumer);
    assert_eq!(world.withheld_next(), withheld);
    world.run(999);
    assert_eq!(rounds(&world), [1]);
    world.run(1);
    assert_eq!(rounds(&world), [1, 2], "at once: it has not failed");
}

#[test]
fn a_withheld_delivery_that_is_gone_is_sent_again_at_once_and_has_not_failed() {
    for is_read in [false, true] {
        let (mut world, consumer) = shard();
        let copy = first(&world);
        world.take_over(&[consumer]);
        world.withhold(copy.seq, Duration::from_secs(1));
        if is_read {
            begin(&mut world, consumer);
            world.gone(copy.seq, copy.attempt - 1, false);
            assert_eq!(rounds(&world), [1], "it is not of that round");
        }
        world.gone(copy.seq, copy.attempt, false);
        if !is_read {
            begin(&mut world, consumer);
        }
        // At once, so it has not failed.
        world.settle();
        let again = if is_read { 2 } else { 1 };
        assert_eq!(rounds(&world), [1, again]);
        invariants::check(&world);
    }
}

#[test]
fn a_hedged_task_is_withheld_until_each_copy_has_failed_or_its_time_is_over() {
    for reported in [1, 2] {
        let (mut world, consumer) = shard();
        let other = world.connect(&[]);
        let adopted = take_over(&mut world, consumer);
        let seq = adopted.seq;
        world.input(FrontInput::Opened(other));
        world.withhold(seq, Duration::from_millis(800));
        world.withhold(seq, Duration::from_millis(800));
        begin(&mut world, consumer);
        let mut copy = first(&world);
        for consumer in [consumer, other].into_iter().take(reported) {
            let left = Duration::from_millis(700);
            let adopted = adopted.clone();
            world.adopt(consumer, UnansweredDelivery { left, ..adopted });
            invariants::check(&world);
            copy.consumer = consumer;
            world.nack_by_name(&copy, Some(0), true);
            invariants::check(&world);
        }
        world.run(700);
        let is_again = if reported == 2 { vec![1, 2] } else { vec![1] };
        assert_eq!(rounds(&world), is_again);
        world.run(200);
        assert_eq!(rounds(&world), [1, 2]);
    }
}

#[test]
fn a_task_stays_withheld_when_its_reported_copy_is_late() {
    let (mut world, consumer) = shard();
    let adopted = take_over(&mut world, consumer);
    // No connection has the route: the task is parked.
    world.settle();
    world.withhold(adopted.seq, Duration::from_millis(800));
    let left = Duration::from_millis(100);
    world.adopt(consumer, UnansweredDelivery { left, ..adopted });
    world.run(200);
    begin(&mut world, consumer);
    world.run(599);
    assert_eq!(rounds(&world), [1]);
    world.run(1);
    assert_eq!(rounds(&world), [1, 2]);
}

#[test]
fn a_copy_of_an_earlier_round_is_not_waited_for() {
    for is_withheld in [false, true] {
        let (mut world, consumer) = shard();
        let earlier = first(&world);
        world.nack_by_name(&earlier, Some(0), true);
        world.settle();
        assert_eq!(rounds(&world), [1, 2]);
        let other = world.connect(&[]);
        let adopted = take_over(&mut world, consumer);
        world.input(FrontInput::Opened(other));
        let (seq, attempt) = (adopted.seq, 1);
        if is_withheld {
            world.withhold(seq, Duration::from_millis(500));
        }
        begin(&mut world, consumer);
        let is_again = if is_withheld {
            vec![1, 2]
        } else {
            vec![1, 2, 2]
        };
        assert_eq!(rounds(&world), is_again);
        let late = UnansweredDelivery { attempt, ..adopted };
        world.adopt(other, late);
        let nacked = Delivered {
            consumer: other,
            ..earlier
        };
        world.nack_by_name(&nacked, Some(0), true);
        world.run(499);
        assert_eq!(rounds(&world), is_again);
        invariants::check(&world);
    }
}

#[test]
fn a_copy_of_an_earlier_round_that_is_reported_first_is_not_waited_for() {
    let (mut world, consumer) = shard();
    world.nack_by_name(&first(&world), Some(0), true);
    world.settle();
    let other = world.connect(&[]);
    let adopted = take_over(&mut world, consumer);
    world.input(FrontInput::Opened(other));
    let attempt = 1;
    world.adopt(other, UnansweredDelivery { attempt, ..adopted });
    begin(&mut world, consumer);
    assert_eq!(rounds(&world), [1, 2, 2]);
}
