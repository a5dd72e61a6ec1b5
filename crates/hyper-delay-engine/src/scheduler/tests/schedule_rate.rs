//! Schedules per second, on the frozen clock.

use super::{World, world::START};
use hyper_delay_config::{Config, Quota};
use hyper_delay_protocol::{Code, Reply, Terms};
use hyper_delay_store::Space;

fn world(per_second: u32) -> World {
    let quota = Quota {
        schedules_per_second: Some(per_second),
        ..Quota::default()
    };
    let config = Config {
        quotas: [("mail*".to_owned(), quota)].into(),
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

/// The codes of the refusals since the last call.
fn refusals(world: &mut World) -> Vec<Code> {
    world.settle();
    let replies = world.replies.drain(..);
    replies
        .filter_map(|(_, reply)| match reply {
            Reply::Error(refusal) => Some(refusal.code),
            _ => None,
        })
        .collect()
}

#[test]
fn each_route_of_a_prefix_has_the_rate_of_its_own() {
    let mut world = world(2);
    for route in ["mail-1", "mail-2"] {
        for id in ["1", "2", "3"] {
            world.schedule_on(route, id, START + 1_000, 0, false);
        }
        assert_eq!(refusals(&mut world), [Code::Quota], "{route}");
    }
    assert_eq!(world.on_disk(Space::Names), 4);
    world.run(500);
    world.schedule_on("mail-1", "3", START + 1_000, 0, false);
    world.schedule_on("mail-1", "4", START + 1_000, 0, false);
    assert_eq!(refusals(&mut world), [Code::Quota]);
}

#[test]
fn schedule_that_is_refused_for_its_content_takes_nothing_of_the_rate() {
    let mut world = world(1);
    let expired = Terms {
        expires_at: Some(START),
        ..Terms::default()
    };
    world.schedule_with(("mail", "1"), 0, 0, false, Some(expired));
    world.schedule_on("mail", "2", u64::MAX, 0, false);
    world.schedule_on("mail", "3", START + 1_000, 0, false);
    world.schedule_on("mail", "4", START + 1_000, 0, false);
    let bad = Code::BadField;
    assert_eq!(refusals(&mut world), [bad, bad, Code::Quota]);
    assert_eq!(world.on_disk(Space::Names), 1);
}
