//! The numbers of rounds tell deliveries apart.

use super::{World, world::START};
use crate::protocol::{Reply, Request};

fn removed(world: &World) -> Vec<bool> {
    let replies = world.replies.iter();
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Acked { removed, .. } => Some(*removed),
            _ => None,
        })
        .collect()
}

#[test]
fn a_late_ack_of_a_task_that_was_cancelled_does_not_remove_the_next_of_its_name() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    world.ask(
        0,
        Request::Cancel {
            route: "route".into(),
            id: "task".into(),
        },
    );
    world.settle();
    world.schedule("task", START + 1);
    // The ack timeout, after which the consumer may have the name again.
    world.run(30_001);
    let rounds: Vec<u32> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.attempt)
        .collect();
    assert_eq!(rounds, [1, 2]);
    world.ack(consumer, &"task".into(), 1);
    world.settle();
    world.ack(consumer, &"task".into(), 2);
    world.settle();
    assert_eq!(removed(&world), [false, true]);
}
