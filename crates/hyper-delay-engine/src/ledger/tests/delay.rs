//! Tasks with a delay in place of a time.

use super::{
    mend::{ENTRIES, mended, rows_after, task},
    model::KEEP,
    world::{World, schedule},
};
use crate::ledger::{Op, Outcome};
use hyper_delay_protocol::{Due, Terms};
use hyper_delay_store::{
    Durability, ReadStore as _, Space,
    record::{self, Task, key},
};

const DELAY: u64 = 500;

/// A schedule with a delay, which arrives at this time.
fn delayed(id: &str, now: u64, expires_at: Option<u64>, replace: bool) -> Op {
    let mut op = schedule("r", id, now + DELAY, b"later", replace);
    if let Op::Schedule(order) = &mut op {
        order.delay_ms = Some(DELAY);
        order.terms = expires_at.map(|at| {
            Box::new(Terms {
                expires_at: Some(at),
                ..Terms::default()
            })
        });
    }
    op
}

#[test]
fn a_repeat_with_the_delay_changes_nothing_and_has_the_first_time() {
    let mut world = World::new();
    world.apply(&delayed("a", 10_000, None, false));
    world.commit(Durability::Synced);
    for replace in [false, true] {
        let again = world.apply(&delayed("a", 17_000, None, replace));
        assert_eq!(again, Outcome::Same { fire_at: 10_500 }, "{replace}");
    }
    let at_that_time = world.apply(&schedule("r", "a", 10_500, b"later", false));
    assert_eq!(at_that_time, Outcome::NameTaken);
    let seq = world.revision("r", "a").seq;
    let stored = world.store.get(Space::Tasks, &key::task(seq)).unwrap();
    let stored = stored.unwrap();
    let content: Task<'_> = record::decode(&stored).unwrap();
    assert_eq!((content.fire_at, content.delay_ms), (10_500, Some(DELAY)));
    assert!(record::needs_version_3(&stored));
}

#[test]
fn a_repeat_of_a_finished_task_has_the_time_of_the_request() {
    let mut world = World::new();
    world.apply(&delayed("a", 10_000, None, false));
    world.apply(&Op::Finish(world.revision("r", "a")));
    world.commit(Durability::Synced);
    let again = world.apply(&delayed("a", 10_000 + KEEP / 2, None, false));
    assert_eq!(
        again,
        Outcome::Same {
            fire_at: 10_000 + KEEP / 2
        }
    );
}

#[test]
fn only_a_new_task_must_not_expire_before_its_delay_is_over() {
    let mut world = World::new();
    let expires_at = Some(10_600);
    world.apply(&delayed("a", 10_000, expires_at, false));
    world.commit(Durability::Synced);
    // Its own delay would be over too late, but the task is there.
    let again = world.apply(&delayed("a", 10_100, expires_at, false));
    assert_eq!(again, Outcome::Same { fire_at: 10_500 });
    let before = world.store.all(Space::Names);
    for (id, replace, expires_at) in [("b", false, 10_600), ("a", true, 10_599), ("a", false, 1)] {
        let refused = world.apply(&delayed(id, 10_100, Some(expires_at), replace));
        assert_eq!(refused, Outcome::ExpiresBeforeDue, "{id}");
    }
    world.commit(Durability::Synced);
    assert_eq!(world.store.all(Space::Names), before);
    let in_time = world.apply(&delayed("b", 10_100, Some(10_601), false));
    assert!(matches!(in_time, Outcome::Scheduled { .. }), "{in_time:?}");
}

#[test]
fn a_mended_task_keeps_its_delay_and_its_digest() {
    let ops: [fn(&World) -> Op; 1] = [|_| delayed("a", 10_000, None, false)];
    for lost in [&[][..], &[Space::Names], &ENTRIES] {
        let rows = rows_after(&ops, |space| lost.contains(&space));
        // The audit compares the digest of the name with the content.
        let (store, tasks) = mended(&rows);
        assert_eq!(task(&tasks, "a").due, Due::After(DELAY), "without {lost:?}");
        assert_eq!(task(&tasks, "a").fire_at, 10_500);
        let mut ledger =
            crate::ledger::Ledger::open(store, KEEP, crate::sizes::Sizes::SMALL).unwrap();
        let again = ledger.apply(&delayed("a", 12_000, None, false), 12_000);
        assert_eq!(again.unwrap(), Outcome::Same { fire_at: 10_500 });
    }
}
