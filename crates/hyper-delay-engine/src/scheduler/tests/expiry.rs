//! Tasks that expire, on the frozen clock.

use super::{Step, World, invariants, world::START};
use crate::front::FrontInput;
use crate::scheduler::NextCall;
use hyper_delay_config::Config;
use hyper_delay_protocol::{Reply, Terms};
use hyper_delay_store::{Space, record::key};

const EXPIRES: Terms = Terms {
    expires_at: Some(START + 500),
    ack_timeout_ms: None,
    max_attempts: None,
    retry_delay_ms: None,
    max_retry_delay_ms: None,
};

fn world() -> World {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 20,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

/// The number of tasks on disk, and of rows in the index of expiry.
fn on_disk(world: &World) -> (usize, usize) {
    let meta = world.store.all(Space::Meta);
    let index = meta.iter().filter(|(key, _)| key.starts_with(key::EXPIRY));
    (world.on_disk(Space::Names), index.count())
}

#[test]
fn a_task_is_removed_at_its_time_and_not_before() {
    for ahead in [0, 100] {
        let mut world = world();
        world.schedule_with(("route", "task"), START + ahead, 0, false, Some(EXPIRES));
        world.run(499);
        assert_eq!(on_disk(&world), (1, 1), "{ahead}");
        world.run(1);
        assert_eq!(on_disk(&world), (0, 0), "{ahead}");
        assert_eq!(world.in_memory(), 0);
        assert_eq!(world.server.scheduler().metrics().expired.value(), 1);
    }
}

#[test]
fn an_idle_scheduler_wakes_for_an_expiry_whatever_was_scheduled_before() {
    let mut world = world();
    let mut later = EXPIRES;
    later.expires_at = Some(START + 900);
    world.schedule_with(("route", "later"), START, 0, false, Some(later));
    assert!(matches!(world.settle(), NextCall::At(_)));
    world.schedule_with(("route", "task"), START, 0, false, Some(EXPIRES));
    world.run(500);
    assert_eq!(on_disk(&world), (1, 1));
    world.run(400);
    assert_eq!(on_disk(&world), (0, 0));
    // The rest is a line of the log.
    world.run(1_000);
    assert_eq!(world.settle(), NextCall::Never);
}

#[test]
fn a_round_that_began_in_time_goes_on_and_no_other_begins() {
    for acknowledged in [true, false] {
        let mut world = world();
        world.connect(&["route"]);
        world.schedule_with(("route", "task"), START, 0, false, Some(EXPIRES));
        world.run(999);
        assert_eq!(on_disk(&world), (1, 1));
        invariants::check(&world);
        if acknowledged {
            let delivery = world.deliveries[0].clone();
            world.ack_delivery(&delivery);
            world.settle();
            let removed = world
                .replies
                .iter()
                .any(|(_, reply)| matches!(reply, Reply::Acked { removed: true, .. }));
            assert!(removed);
        }
        world.run(50);
        assert_eq!((world.deliveries.len(), on_disk(&world)), (1, (0, 0)));
        let expired = u64::from(!acknowledged);
        assert_eq!(world.server.scheduler().metrics().expired.value(), expired);
    }
}

#[test]
fn an_expiry_meets_a_change_that_is_under_way() {
    // The change is a retry, then a task is parked and dies.
    for attempts in [None, Some(1)] {
        let mut world = world();
        let consumer = world.connect(&["route"]);
        let terms = Terms {
            max_attempts: attempts,
            ..EXPIRES
        };
        world.schedule_with(("route", "task"), START, 0, false, Some(terms));
        world.settle();
        world.pass(499);
        world.input(FrontInput::Closed(consumer));
        world.pass(1);
        world.tick();
        for step in [Step::Commit, Step::Tell, Step::Tick] {
            world.step(step);
            invariants::check(&world);
        }
        world.run(1);
        assert_eq!(on_disk(&world), (0, 0), "{attempts:?}");
        assert_eq!(world.in_memory(), 0);
    }
}

#[test]
fn what_expired_before_a_restart_is_removed_after_it() {
    let mut world = world();
    world.schedule_with(("route", "task"), START, 0, false, Some(EXPIRES));
    world.settle();
    world.pass(600);
    world.restart();
    world.connect(&["route"]);
    world.settle();
    assert_eq!((world.deliveries.len(), on_disk(&world)), (0, (0, 0)));
}

#[test]
fn many_expire_at_once() {
    let mut world = world();
    for id in 0..2_000 {
        let id = id.to_string();
        world.schedule_with(("route", &id), START, 0, false, Some(EXPIRES));
    }
    world.settle();
    world.run(500);
    assert_eq!(on_disk(&world), (0, 0));
    assert_eq!(world.server.scheduler().metrics().expired.value(), 2_000);
}

#[test]
fn the_clock_is_set_back_after_an_expiry() {
    let mut world = world();
    world.schedule_with(("route", "first"), START, 0, false, Some(EXPIRES));
    world.run(500);
    world.set_clock(-400);
    world.schedule_with(("route", "second"), START, 0, false, Some(EXPIRES));
    world.run(399);
    assert_eq!(on_disk(&world), (1, 1));
    world.run(1);
    assert_eq!(on_disk(&world), (0, 0));
}

#[test]
fn the_clock_is_set_back_while_an_expired_task_is_in_flight() {
    // The second step is too small to count as one.
    for back in [400, 200] {
        let mut world = world();
        let consumer = world.connect(&["route"]);
        world.schedule_with(("route", "task"), START, 0, false, Some(EXPIRES));
        world.run(600);
        world.set_clock(-back);
        world.input(FrontInput::Closed(consumer));
        world.run(50);
        assert_eq!(on_disk(&world), (1, 1), "it waits for a consumer again");
        world.run(250);
        assert_eq!(on_disk(&world), (0, 0), "{back}");
    }
}
