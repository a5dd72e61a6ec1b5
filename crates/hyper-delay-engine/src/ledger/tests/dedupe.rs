//! The deduplication window when the wall clock is set.

use super::{
    model::KEEP,
    world::{World, schedule},
};
use crate::ledger::{Op, Outcome};
use hyper_delay_store::{Durability, Space};

#[test]
fn names_that_were_finished_before_the_clock_was_set_back_are_kept() {
    let mut world = World::new();
    world.now = 50_000;
    for id in ["before", "after"] {
        world.apply(&schedule("r", id, 20_000, b"content", false));
        world.commit(Durability::Synced);
        world.apply(&Op::Finish(world.revision("r", id)));
        world.commit(Durability::Synced);
        // The generation of the first name becomes the previous one.
        world.now += KEEP - 1;
    }
    world.now -= 10 * KEEP;
    for _ in 0..3 {
        world.commit(Durability::Synced);
        world.now += KEEP / 2;
        for id in ["before", "after"] {
            let outcome = world.apply(&schedule("r", id, 20_000, b"content", false));
            assert_eq!(outcome, Outcome::Same { fire_at: 20_000 }, "{id}");
        }
    }
}

#[test]
fn expired_names_stay_on_disk_for_one_more_window_at_most() {
    let mut world = World::new();
    world.now = 50_000;
    // Begins a generation.
    world.commit(Durability::Synced);
    world.apply(&schedule("r", "a", 20_000, b"content", false));
    world.apply(&Op::Finish(world.revision("r", "a")));
    for is_kept in [true, true, false] {
        world.commit(Durability::Synced);
        let names = [Space::DoneEven, Space::DoneOdd].map(|space| world.store.all(space).len());
        assert_eq!(names.iter().sum::<usize>(), usize::from(is_kept));
        world.now += KEEP;
    }
}

#[test]
fn names_leave_the_disk_after_the_clock_was_set_back() {
    let mut world = World::new();
    world.now = 50_000;
    world.commit(Durability::Synced);
    world.apply(&schedule("r", "a", 20_000, b"content", false));
    world.apply(&Op::Finish(world.revision("r", "a")));
    world.now -= 10 * KEEP;
    for _ in 0..3 {
        world.commit(Durability::Synced);
        world.now += KEEP;
    }
    for space in [Space::DoneEven, Space::DoneOdd] {
        assert!(world.store.all(space).is_empty());
    }
}

#[test]
fn name_of_the_previous_generation_is_free_after_it_was_replaced_and_cancelled() {
    let mut world = World::new();
    world.now = 50_000;
    // Begins a generation.
    world.commit(Durability::Synced);
    world.now += KEEP / 2;
    world.apply(&schedule("r", "a", 20_000, b"content", false));
    world.apply(&Op::Finish(world.revision("r", "a")));
    world.commit(Durability::Synced);
    // Begins the next one, in which the name is still kept.
    world.now += KEEP / 2;
    world.commit(Durability::Synced);
    let again = world.apply(&schedule("r", "a", 20_000, b"content", false));
    assert_eq!(again, Outcome::Same { fire_at: 20_000 });
    let replaced = world.apply(&schedule("r", "a", 20_000, b"other", true));
    assert!(
        matches!(replaced, Outcome::Scheduled { .. }),
        "{replaced:?}"
    );
    let (route, id) = ("r".into(), "a".into());
    world.apply(&Op::Cancel { route, id });
    world.commit(Durability::Synced);
    let outcome = world.apply(&schedule("r", "a", 20_000, b"content", false));
    assert!(matches!(outcome, Outcome::Scheduled { .. }), "{outcome:?}");
}
