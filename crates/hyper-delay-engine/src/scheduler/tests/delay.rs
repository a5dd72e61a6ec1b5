//! Schedules with a delay, on the frozen clock.

use super::{World, world::START};
use hyper_delay_config::Config;
use hyper_delay_protocol::{Code, Due, Reply, Terms};

const DELAY: u64 = 250;

fn world() -> World {
    let config = Config {
        max_delay_days: 1,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

fn schedule(world: &mut World, delay_ms: u64, expires_at: Option<u64>) {
    let terms = expires_at.map(|at| Terms {
        expires_at: Some(at),
        ..Terms::default()
    });
    world.schedule_due(("route", "task"), Due::After(delay_ms), 0, false, terms);
    world.settle();
}

/// Returns the time in the last reply, or why the schedule was refused.
fn last_reply(world: &World) -> Result<u64, (Code, &str)> {
    match world.replies.last() {
        Some((_, Reply::Scheduled { fire_at, .. })) => Ok(*fire_at),
        Some((_, Reply::Error(refusal))) => Err((refusal.code, &refusal.message)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_delay_counts_from_the_clock_of_the_scheduler() {
    let mut world = world();
    world.connect(&["route"]);
    schedule(&mut world, DELAY, None);
    assert_eq!(last_reply(&world), Ok(START + DELAY));
    world.run(DELAY - 1);
    assert_eq!(world.deliveries.len(), 0);
    // The reply to a repeat has the first time.
    schedule(&mut world, DELAY, None);
    assert_eq!(last_reply(&world), Ok(START + DELAY));
    world.run(20);
    assert_eq!(world.deliveries.len(), 1);
    world.ack_delivery(&world.deliveries[0].clone());
    world.settle();
    schedule(&mut world, DELAY, None);
    assert_eq!(
        last_reply(&world),
        Ok(world.now.wall_millis()),
        "it is done"
    );
    world.run(2 * DELAY);
    assert_eq!(world.deliveries.len(), 1);
}

#[test]
fn a_delay_has_the_limit_of_a_time() {
    const DAY: u64 = 86_400_000;
    let mut world = world();
    schedule(&mut world, DAY + 1, None);
    let message = "delay_ms is 86400001, more than max_delay_days ahead: give at most 86400000";
    assert_eq!(last_reply(&world), Err((Code::BadField, message)));
    schedule(&mut world, DAY, None);
    assert_eq!(last_reply(&world), Ok(START + DAY));
}

#[test]
fn a_task_that_would_expire_before_its_delay_is_over_is_refused() {
    let mut world = world();
    schedule(&mut world, DELAY, Some(START + DELAY));
    let end = START + DELAY;
    let message = "expires_at is 1000000250 (1970-01-12T13:46:40.25Z): give a time after the end of \
                   delay_ms, which is 1000000250 (1970-01-12T13:46:40.25Z)";
    assert_eq!(last_reply(&world), Err((Code::BadField, message)));
    schedule(&mut world, DELAY, Some(end + 1));
    assert_eq!(last_reply(&world), Ok(end));
}
