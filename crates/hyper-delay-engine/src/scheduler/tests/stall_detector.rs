//! The server stands still while consumers answer.

use super::{Step, World, world::START};
use crate::scheduler::ConsumerId;
use hyper_delay_config::Config;
use hyper_delay_protocol::Reply;

const ACK_TIMEOUT: u64 = 5_000;

/// A server with a consumer that has a task.
fn world() -> (World, ConsumerId) {
    let config = Config {
        ack_timeout_ms: ACK_TIMEOUT,
        retry_delay_ms: 1_000,
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 1_000, 100);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.run(1);
    assert_eq!(world.deliveries.len(), 1);
    (world, consumer)
}

/// Nothing runs for this time; then the scheduler is called before the sockets are read.
fn stall(world: &mut World, millis: u64) {
    world.pass(millis);
    world.step(Step::Tick);
}

fn failures(world: &World) -> u32 {
    let (_, task, _) = world.server.scheduler().tasks.iter().next().unwrap();
    task.failures()
}

fn found(world: &World) -> Vec<bool> {
    let replies = world.replies.iter();
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Touched { deadline, .. } => Some(deadline.is_some()),
            _ => None,
        })
        .collect()
}

#[test]
fn an_answer_that_came_during_a_stall_counts() {
    // Shorter than the ack timeout, as long, and much longer.
    for millis in [
        ACK_TIMEOUT - 1_000,
        ACK_TIMEOUT,
        2 * ACK_TIMEOUT,
        20 * ACK_TIMEOUT,
    ] {
        let (mut world, _) = world();
        stall(&mut world, millis);
        let delivered = world.deliveries[0].clone();
        world.touch(&delivered, None);
        assert_eq!(found(&world), [true], "{millis}");
        world.nack_delivery(&delivered, Some(30_000));
        world.run(29_999);
        assert_eq!(world.deliveries.len(), 1, "the delay counts: {millis}");
        world.run(1);
        assert_eq!(world.deliveries.len(), 2, "{millis}");
        assert_eq!(failures(&world), 1, "{millis}");
    }
}

/// It ends shortly after the round would have ended.
#[test]
fn a_short_stall_at_the_end_of_a_round_counts_too() {
    for (before, millis) in [(ACK_TIMEOUT - 400, 450), (ACK_TIMEOUT - 150, 250)] {
        let (mut world, _) = world();
        world.run(before);
        stall(&mut world, millis);
        let delivered = world.deliveries[0].clone();
        world.touch(&delivered, None);
        assert_eq!(found(&world), [true], "{millis} ms after {before}");
    }
}

#[test]
fn without_an_answer_the_round_ends_after_the_stall() {
    for (millis, left) in [
        // Due timers are looked for at least each second, and the rest of a stall is late.
        (ACK_TIMEOUT, ACK_TIMEOUT),
        (20 * ACK_TIMEOUT, 1_000),
    ] {
        let (mut world, _) = world();
        stall(&mut world, millis);
        world.run(left + 1);
        let second = world.deliveries.get(1);
        assert!(second.is_some() || failures(&world) == 1, "{millis}");
    }
}

/// A server that is always late does not wait for an answer for ever.
#[test]
fn the_end_of_a_round_moves_by_one_ack_timeout_at_most() {
    let (mut world, _) = world();
    for _ in 0..2 * ACK_TIMEOUT / 200 + 1_000 / 200 {
        stall(&mut world, 200);
    }
    world.settle();
    assert_eq!(failures(&world), 1);
}

#[test]
fn a_call_in_time_moves_nothing() {
    let (mut world, _) = world();
    world.run(ACK_TIMEOUT - 2);
    assert_eq!(failures(&world), 0);
    world.run(1);
    assert_eq!(failures(&world), 1);
}

/// The writer looks before the scheduler is called, or after it.
#[test]
fn a_consumer_is_not_to_blame_for_what_was_not_written_during_a_stall() {
    for (millis, ticks_first, is_suspect) in [
        (2 * ACK_TIMEOUT, false, false),
        (2 * ACK_TIMEOUT, true, false),
        (0, true, true),
    ] {
        let (mut world, consumer) = world();
        world.sockets.block(consumer);
        world.schedule("other", START);
        world.settle();
        match millis {
            0 => world.run(ACK_TIMEOUT - 400),
            millis => world.pass(millis),
        }
        if ticks_first {
            world.step(Step::Tick);
        }
        world.drop_late(consumer);
        let state = world.server.scheduler().consumers.get(consumer).unwrap();
        let found = state.is_suspect(world.now.monotonic);
        assert_eq!(found, is_suspect, "{millis} {ticks_first}");
    }
}

/// Due times do not move.
#[test]
fn what_was_due_during_a_stall_is_delivered_at_its_end() {
    let (mut world, _) = world();
    world.schedule("other", START + 3_000);
    world.settle();
    stall(&mut world, 4_000);
    world.settle();
    assert_eq!(&*world.deliveries[1].id, "other");
}
