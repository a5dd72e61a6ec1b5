//! Deliveries that wait, as their connection has another one with the same id.

use super::{World, begin, first, shard};
use crate::scheduler::{
    SchedulerInput,
    tests::{Step, world::START},
};
use hyper_delay_config::Config;
use hyper_delay_protocol::RegisterMode;

/// When the task of the route "other" was delivered, in milliseconds after the start, and the numbers of
/// the rounds.
fn of_other(world: &World) -> Vec<(u64, u32)> {
    let deliveries = world.deliveries.iter();
    let of_route = deliveries.filter(|it| &*it.route == "other");
    of_route.map(|it| (it.at - START, it.attempt)).collect()
}

#[test]
fn a_delivery_whose_id_is_free_too_late_to_write_it_comes_at_once_in_another_round() {
    for (passed, round) in [(899, 1), (900, 2)] {
        let (mut world, consumer) = shard();
        let before = first(&world);
        world.take_over(&[consumer]);
        world.lend(consumer, 5);
        let (other, mode) = ("other".into(), RegisterMode::Shared);
        world.lead(SchedulerInput::Registered(consumer, other, mode));
        world.lead(SchedulerInput::DeliveriesHeld(false));
        world.schedule_on("other", "task", START, 0, false);
        world.settle();
        assert_eq!(of_other(&world), [], "the connection has the id");
        // No tick comes before the ack.
        world.pass(passed);
        world.ack_delivery(&before);
        world.settle();
        assert_eq!(of_other(&world), [(passed, round)]);
    }
}

/// The connection could not tell its first round from that of the earlier revision.
#[test]
fn a_round_that_is_not_sent_counts_if_the_task_is_parked_and_read_again() {
    let config = Config {
        credit: 0,
        ack_timeout_ms: 1_000,
        ..Config::default()
    };
    let mut world = World::with(config, 200, 3, 1);
    let consumer = world.connect(&["route"]);
    world.lend(consumer, 1);
    world.schedule("task", START);
    world.settle();
    world.schedule("other", START);
    world.schedule_on("route", "task", START, 1, true);
    world.step(Step::Commit);
    world.take_over(&[consumer]);
    begin(&mut world, consumer);
    let rounds = world.deliveries.iter().map(|it| (&*it.id, it.attempt));
    let rounds: Vec<_> = rounds.collect();
    assert_eq!(rounds, [("task", 1), ("other", 1), ("task", 2)]);
}
