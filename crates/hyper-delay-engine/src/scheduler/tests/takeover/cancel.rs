//! What a cancel tells after another leader took over.

use std::time::Duration;

use super::{answers, first, shard, take_over};
use crate::scheduler::tests::Step;
use crate::scheduler::{SchedulerInput, UnansweredDelivery, tests::world::START};

#[test]
fn a_cancel_says_that_a_task_may_be_in_flight_until_one_ack_timeout_has_passed() {
    let cancelled = |due: u64, passed: u64| {
        let (mut world, consumer) = shard();
        world.schedule_on("quiet", "task", START + due, 0, false);
        world.settle();
        world.pass(100);
        world.take_over(&[consumer]);
        world.lead(SchedulerInput::DeliveriesHeld(false));
        world.run(passed);
        answers(&mut world);
        world.cancel("quiet", "task");
        world.settle();
        answers(&mut world)
    };
    assert_eq!(cancelled(50, 10), [true]);
    assert_eq!(cancelled(50, 999), [true]);
    assert_eq!(cancelled(50, 1_000), [false]);
    assert_eq!(cancelled(150, 100), [false], "it came due later");
    assert_eq!(cancelled(1_000_000, 10), [false]);
}

#[test]
fn a_cancel_tells_that_a_task_is_in_flight_that_was_not_read() {
    for step in ["adopted", "withheld", "acked"] {
        let (mut world, consumer) = shard();
        let adopted = take_over(&mut world, consumer);
        // Also without the rule for the first ack timeout.
        world.pass(2_000);
        let (seq, left) = (adopted.seq, Duration::from_secs(3));
        match step {
            "withheld" => world.withhold(seq, left),
            _ => world.adopt(consumer, UnansweredDelivery { left, ..adopted }),
        }
        world.cancel("route", "task");
        if step == "acked" {
            world.ack_by_name(&first(&world));
        }
        world.step(Step::Commit);
        world.step(Step::Tell);
        assert!(answers(&mut world)[0], "{step}");
    }
}
