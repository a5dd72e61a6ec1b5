//! Consumers that ask for more time.

use super::{World, invariants, world::START};
use crate::{config::Config, protocol::Reply, scheduler::Input};

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
    world.input(Input::Closed(first));
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
