//! Quotas of pending tasks.

use std::sync::Arc;

use super::world::{World, schedule};
use crate::ledger::{Op, Outcome, PendingLimits, ScheduleOrder};
use hyper_delay_protocol::access::{Grant, Right, TokenEntry};
use hyper_delay_store::Durability;

fn order(id: &str, payload: &[u8], replace: bool) -> ScheduleOrder {
    match schedule("r", id, 10_000, payload, replace) {
        Op::Schedule(order) => order,
        other => panic!("{other:?}"),
    }
}

/// Returns the refusal of a schedule if the route may have `tasks` tasks and `bytes` bytes.
fn refused(world: &mut World, order: &ScheduleOrder, tasks: u64, bytes: u64) -> Option<Outcome> {
    let most = PendingLimits {
        tasks: Some(tasks),
        bytes: Some(bytes),
        token: None,
    };
    world.over_quota(order, &most)
}

#[test]
fn bytes_count_what_a_schedule_adds() {
    let mut world = World::new();
    for (id, payload) in [("a", &b"12345"[..]), ("b", b"123")] {
        let op = Op::Schedule(order(id, payload, false));
        world.apply(&op);
    }
    let (tasks, bytes) = (Some(Outcome::OverQuota), Some(Outcome::OverBytes));
    for (id, payload, replace, most, expected) in [
        ("c", &b"12"[..], false, (2, 99), tasks.clone()),
        ("c", b"12", false, (3, 10), None),
        ("c", b"12", false, (3, 9), bytes.clone()),
        ("c", b"", false, (3, 1), None),
        // What is stored already, and what is refused for its name.
        ("a", b"12345", false, (0, 0), None),
        ("a", b"other", false, (0, 0), None),
        // Replacements.
        ("a", b"123456", true, (0, 9), None),
        ("a", b"123456", true, (0, 8), bytes.clone()),
        ("a", b"1234", true, (0, 0), None),
    ] {
        let order = order(id, payload, replace);
        let found = refused(&mut world, &order, most.0, most.1);
        assert_eq!(found, expected, "{id} {payload:?} {most:?}");
    }
    // Dead letters do not count.
    let (op, at) = (world.revision("r", "a"), 1);
    world.apply(&Op::Bury {
        revision: op,
        at,
        attempt: 1,
        failures: 1,
        reason: None,
        failure: None,
    });
    assert_eq!(refused(&mut world, &order("c", b"12", false), 3, 5), None);
    assert_eq!(refused(&mut world, &order("c", b"12", false), 3, 4), bytes);
}

/// Returns a token that may have `tasks` tasks and `bytes` bytes pending on these routes.
fn token(routes: &[&str], tasks: u64, bytes: u64) -> Arc<Grant> {
    let routes = routes.iter().map(|route| (*route).to_owned()).collect();
    let (entry, _) = TokenEntry::new("t".to_owned(), vec![Right::Schedule], routes).unwrap();
    Arc::new(entry.with_pending(Some(tasks), Some(bytes)).grant())
}

/// What a schedule with a payload of two bytes is refused for.
fn refused_to(world: &mut World, token: &Arc<Grant>) -> Option<Outcome> {
    let most = PendingLimits {
        token: Some(token.clone()),
        ..PendingLimits::default()
    };
    world.over_quota(&order("new", b"12", false), &most)
}

#[test]
fn quotas_of_a_token_are_for_the_sum_over_its_routes() {
    let mut world = World::new();
    let schedule_on = |world: &mut World, route: &str| {
        world.apply(&schedule(route, "a", 10_000, b"123", false));
    };
    schedule_on(&mut world, "m1");
    world.commit(Durability::Synced);
    schedule_on(&mut world, "m2");
    // Taken and not in the store yet.
    world.take();
    for route in ["x", "y"] {
        schedule_on(&mut world, route);
    }
    let (full, over) = (Outcome::OverTokenQuota(3), Outcome::OverTokenBytes(10));
    let tasks = token(&["m*", "x"], 3, 99);
    let bytes = token(&["m*", "x"], 99, 10);
    assert_eq!(refused_to(&mut world, &tasks), Some(full.clone()));
    assert_eq!(refused_to(&mut world, &bytes), Some(over.clone()));
    // A sum follows changes on its routes only.
    world.apply(&Op::Finish(world.revision("y", "a")));
    assert_eq!(refused_to(&mut world, &tasks), Some(full.clone()));
    world.apply(&Op::Finish(world.revision("m1", "a")));
    assert_eq!(refused_to(&mut world, &tasks), None);
    assert_eq!(refused_to(&mut world, &bytes), None);
    schedule_on(&mut world, "m3");
    assert_eq!(refused_to(&mut world, &tasks), Some(full.clone()));
    // It is made again after others were asked for, from what is on disk and what is not.
    for _ in 0..3 {
        assert_eq!(refused_to(&mut world, &token(&["*"], 4, 99)), None);
    }
    assert_eq!(refused_to(&mut world, &tasks), Some(full.clone()));
    world.commit(Durability::Synced);
    let mut world = world.after_power_loss(0);
    assert_eq!(refused_to(&mut world, &tasks), Some(full.clone()));
    assert_eq!(refused_to(&mut world, &bytes), Some(over.clone()));
}
