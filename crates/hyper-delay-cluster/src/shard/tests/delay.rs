//! Schedules with a delay.

use super::*;
use crate::log::LogRequest;

/// When the world begins, in Unix milliseconds.
const NOW: u64 = 1_000_000;

const DELAY: Due = Due::After(5_000);

/// Asks, and returns the time in the reply and the versions of the entries that were appended.
fn asked(world: &mut World, number: u32, request: RouteRequest) -> (u64, Vec<u8>) {
    world.log_requests.clear();
    world.to_peers.clear();
    world.asks(number, request);
    world.settle();
    let replies = world.to_peers.iter().filter_map(|message| match message {
        ToServing::Connection(CLIENT, ToConnection::Reply(_, reply)) => Some(reply),
        _ => None,
    });
    let replies: Vec<_> = replies.collect();
    let [Reply::Scheduled { fire_at, .. }] = replies[..] else {
        panic!("{replies:?}");
    };
    let appended = world.log_requests.iter();
    let versions = appended.filter_map(|request| match request {
        LogRequest::Append { entry, .. } => Some(entry[0]),
        _ => None,
    });
    (*fire_at, versions.collect())
}

#[test]
fn the_clock_of_the_leader_counts_and_only_an_entry_with_a_delay_has_version_2() {
    let mut world = World::new();
    world.begin();
    let at_a_time = asked(&mut world, 1, schedule_at("a", NOW + 5_000));
    assert_eq!(at_a_time, (NOW + 5_000, vec![1]));
    let delayed = asked(&mut world, 2, schedule_due("b", DELAY));
    assert_eq!(delayed, (NOW + 5_000, vec![2]));
}

#[test]
fn a_repeat_has_the_first_time_and_appends_nothing() {
    let mut world = World::new();
    world.begin();
    asked(&mut world, 1, schedule_due("b", DELAY));
    world.now.wall_nanos += 10_000_000;
    let (fire_at, versions) = asked(&mut world, 2, schedule_due("b", DELAY));
    assert_eq!((fire_at, versions.len()), (NOW + 5_000, 0));
}
