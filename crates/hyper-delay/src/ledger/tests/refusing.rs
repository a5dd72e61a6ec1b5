//! Quotas of pending tasks.

use super::world::{World, schedule};
use crate::ledger::{Op, Order, Outcome, PendingLimits};

fn order(id: &str, payload: &[u8], replace: bool) -> Order {
    match schedule("r", id, 10_000, payload, replace) {
        Op::Schedule(order) => order,
        other => panic!("{other:?}"),
    }
}

/// What a schedule is refused for if the route may have so many tasks and bytes.
fn refused(world: &World, order: &Order, tasks: u64, bytes: u64) -> Option<Outcome> {
    let most = PendingLimits {
        tasks: Some(tasks),
        bytes: Some(bytes),
    };
    world.over_quota(order, most)
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
        ("c", &b"12"[..], false, (2, 99), tasks),
        ("c", b"12", false, (3, 10), None),
        ("c", b"12", false, (3, 9), bytes),
        ("c", b"", false, (3, 1), None),
        // What is stored already, and what is refused for its name.
        ("a", b"12345", false, (0, 0), None),
        ("a", b"other", false, (0, 0), None),
        // Replacements.
        ("a", b"123456", true, (0, 9), None),
        ("a", b"123456", true, (0, 8), bytes),
        ("a", b"1234", true, (0, 0), None),
    ] {
        let order = order(id, payload, replace);
        let found = refused(&world, &order, most.0, most.1);
        assert_eq!(found, expected, "{id} {payload:?} {most:?}");
    }
    // Dead letters do not count.
    let (op, at) = (world.subject("r", "a"), 1);
    world.apply(&Op::Bury {
        subject: op,
        at,
        attempt: 1,
        failures: 1,
        reason: None,
    });
    assert_eq!(refused(&world, &order("c", b"12", false), 3, 5), None);
    assert_eq!(refused(&world, &order("c", b"12", false), 3, 4), bytes);
}
