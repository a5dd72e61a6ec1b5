//! A fixed history with every operation, and a power loss after each write.

use super::world::{World, expiring, failure, schedule};
use crate::ledger::{NewDueTime, Op, Outcome, TaskMove};
use hyper_delay_store::{Durability, fake::Syncs};

fn moved(due: NewDueTime) -> Op {
    Op::Move(TaskMove {
        route: "r".into(),
        id: "a".into(),
        due,
        in_flight: None,
    })
}

/// The operations in order. Some depend on the state of the world before them.
fn history() -> Vec<fn(&World) -> Op> {
    vec![
        |_| schedule("r", "a", 20_000, b"first", false),
        |_| schedule("r", "b", 20_000, b"same millisecond", false),
        |_| schedule("other", "a", 20_000, b"same id", false),
        |_| schedule("r", "a", 20_000, b"first", false),
        |_| schedule("r", "a", 21_000, b"taken", false),
        |_| Op::AdvanceLowWater(19_000),
        |_| schedule("r", "a", 15_000, b"second", true),
        |world| Op::Park(world.revision("r", "a")),
        |world| Op::Count {
            revision: world.revision("r", "a"),
            attempt: 3,
        },
        |world| Op::Retry {
            revision: world.revision("r", "a"),
            at: 30_000,
            attempt: 4,
            failures: 1,
            failure: Some(failure(29_000, None)),
        },
        |world| Op::Park(world.revision("r", "a")),
        |world| Op::Retry {
            revision: world.revision("r", "a"),
            at: 30_500,
            attempt: 4,
            failures: 1,
            failure: None,
        },
        |_| moved(NewDueTime::At(35_000)),
        |world| Op::Park(world.revision("r", "a")),
        |_| moved(NewDueTime::NotAfter(40_000)),
        |_| moved(NewDueTime::NotAfter(18_000)),
        |_| Op::AdvanceLowWater(18_000),
        |world| Op::Bury {
            revision: world.revision("r", "a"),
            at: 31_000,
            attempt: 5,
            failures: 2,
            reason: None,
            failure: None,
        },
        |_| Op::Kick {
            route: "r".into(),
            id: "a".into(),
            at: 12_000,
        },
        |_| Op::Kick {
            route: "r".into(),
            id: "a".into(),
            at: 12_000,
        },
        |world| Op::Finish(world.revision("r", "b")),
        |_| schedule("r", "b", 20_000, b"same millisecond", false),
        |_| schedule("r", "b", 20_000, b"done, and taken", false),
        |_| schedule("r", "b", 20_000, b"done, and replaced", true),
        |_| Op::Cancel {
            route: "other".into(),
            id: "a".into(),
        },
        |_| Op::Cancel {
            route: "other".into(),
            id: "a".into(),
        },
        |_| schedule("other", "a", 50_000, b"free again", false),
        |world| Op::Finish(world.revision("r", "unknown")),
        |_| expiring("e", 20_000, 40_000, false),
        |_| expiring("f", 20_000, 40_000, false),
        |_| expiring("g", 20_000, 40_000, false),
        |_| expiring("e", 21_000, 41_000, true),
        |world| Op::Park(world.revision("r", "f")),
        |world| Op::Bury {
            revision: world.revision("r", "g"),
            at: 31_000,
            attempt: 1,
            failures: 1,
            reason: Some("no disk".into()),
            failure: Some(failure(31_000, Some("no disk"))),
        },
        |world| Op::Expire {
            revision: world.revision("r", "g"),
            at: 40_000,
        },
        |_| schedule("r", "e", 22_000, b"without an end", true),
        |_| expiring("e", 23_000, 41_000, true),
        |_| Op::Cancel {
            route: "r".into(),
            id: "f".into(),
        },
        |world| Op::Expire {
            revision: world.revision("r", "e"),
            at: 41_000,
        },
        |world| Op::Expire {
            revision: world.revision("r", "e"),
            at: 41_000,
        },
        |world| Op::Park(world.revision("other", "a")),
        |_| schedule("other", "a", 60_000, b"from parked", true),
        |world| Op::Finish(world.revision("r", "a")),
        |world| Op::Finish(world.revision("r", "b")),
        |world| Op::Finish(world.revision("other", "a")),
    ]
}

/// Plays the history in batches of `group` operations and checks every power loss after each. Every
/// `synced`th batch is synced.
fn play(group: usize, synced: usize) {
    let mut world = World::new();
    for (number, ops) in history().chunks(group).enumerate() {
        for op in ops {
            let op = op(&world);
            world.apply(&op);
        }
        world.now += 300;
        let durability = match number % synced {
            0 => Durability::Synced,
            _ => Durability::Written,
        };
        world.commit(durability);
        world.survives_every_power_loss();
    }
    assert!(world.model.tasks.is_empty());
}

#[test]
fn synced_batches_survive_every_power_loss() {
    for group in [1, 2, 3, 5, 100] {
        play(group, 1);
    }
}

#[test]
fn a_power_loss_keeps_a_prefix_of_the_unsynced_batches() {
    for group in [1, 2, 3, 5] {
        for synced in [2, 4, 100] {
            play(group, synced);
        }
    }
}

#[test]
fn an_uncommitted_batch_has_no_effect() {
    let mut world = World::new();
    world.apply(&schedule("r", "a", 20_000, b"", false));
    world.commit(Durability::Synced);
    let before = world.model.tasks.clone();
    for op in &history()[1..] {
        let op = op(&world);
        world.apply(&op);
    }
    let after = super::invariants::check_invariants(&world.store.power_loss(0));
    assert_eq!(after, before);
}

#[test]
fn sequence_numbers_are_not_reused_after_restarts() {
    let mut world = World::new();
    for round in 0..10 {
        let id = format!("task {round}");
        let outcome = world.apply(&schedule("r", &id, 20_000, b"", false));
        assert!(matches!(outcome, Outcome::Scheduled { .. }));
        world.commit(Durability::Synced);
        world = world.after_power_loss(0);
    }
    assert_eq!(world.model.numbers.len(), 10);
}

#[test]
fn sequence_numbers_beyond_the_reserved_range_are_not_reused() {
    let mut world = World::new();
    for number in 0..140_000_u32 {
        let op = schedule("r", "a", 20_000, &number.to_be_bytes(), true);
        world.apply(&op);
        if number % 20_000 == 0 {
            world.commit(Durability::Synced);
            world = world.after_power_loss(0);
        }
    }
    world.commit(Durability::Synced);
    let mut after = world.after_power_loss(0);
    after.apply(&schedule("r", "b", 20_000, b"", false));
}

#[test]
fn a_sync_without_effect_loses_whole_batches_and_leaves_the_store_consistent() {
    let mut world = World::new();
    world.apply(&schedule("r", "a", 20_000, b"", false));
    world.commit(Durability::Synced);
    world.store.set_syncs(Syncs::Lie);
    world.apply(&schedule("r", "b", 20_000, b"", false));
    world.commit(Durability::Synced);
    assert_eq!(world.model.tasks.len(), 2);
    assert_eq!(world.after_power_loss(0).model.tasks.len(), 1);
    world.survives_every_power_loss();
}
