//! Stores that lost rows of some spaces and are mended when the ledger is opened.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    invariants::check_invariants,
    model::{KEEP, Task},
    world::{World, failure, schedule},
};
use crate::{
    ledger::{Ledger, Op, Outcome, sequence_numbers::SequenceNumbers},
    sizes::Sizes,
};
use hyper_delay_store::{
    Batch, Bytes, Durability, ReadStore as _, Space, Store as _,
    fake::{Fake, Syncs},
    record::{self, Place, key},
};

pub(super) type Tasks = BTreeMap<(String, String), Task>;

/// The rows of all spaces.
pub(super) type Rows = Vec<(Space, Vec<u8>, Bytes)>;

pub(super) fn rows(store: &Fake) -> Rows {
    let rows = Space::ALL.into_iter().flat_map(|space| {
        let rows = store.all(space).into_iter();
        rows.map(move |(key, value)| (space, key, value))
    });
    rows.collect()
}

/// Returns a store with these rows whose loss was accepted.
pub(super) fn damaged(rows: &Rows) -> Fake {
    let store = Fake::default();
    let mut batch = Batch::new();
    for (space, key, value) in rows {
        batch.put(*space, &**key, value.clone());
    }
    batch.put(Space::Meta, key::MENDING, record::encode(&()));
    store.commit(batch, Durability::Synced).unwrap();
    store
}

/// Mends a store, checks its invariants, and returns it and its tasks. Checks also that it can be
/// interrupted after each batch, and that mending again changes nothing.
pub(super) fn mended(rows_before: &Rows) -> (Arc<Fake>, Tasks) {
    let store = open(damaged(rows_before));
    let tasks = check_invariants(&store);
    let after = rows(&store);
    assert_eq!(rows(&open(damaged(&after))), after, "mended twice");

    let interrupted = damaged(rows_before);
    interrupted.set_syncs(Syncs::Lie);
    let interrupted = open(interrupted);
    for batches in 0..=interrupted.unsynced() {
        let store = interrupted.power_loss(batches);
        assert_eq!(
            check_invariants(&open(store)),
            tasks,
            "after {batches} batches"
        );
    }
    (store, tasks)
}

fn open(store: Fake) -> Arc<Fake> {
    let store = Arc::new(store);
    drop(Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap());
    let mark = store.get(Space::Meta, key::MENDING).unwrap();
    assert_eq!(mark, None);
    store
}

/// Returns the rows of a store after these operations, without the rows that `is_lost` selects.
pub(super) fn rows_after(ops: &[fn(&World) -> Op], is_lost: impl Fn(Space) -> bool) -> Rows {
    let mut world = World::new();
    for op in ops {
        let op = op(&world);
        world.apply(&op);
        world.commit(Durability::Synced);
    }
    let mut rows = rows(&world.store);
    rows.retain(|(space, ..)| !is_lost(*space));
    rows
}

/// Returns the rows of a store where some spaces are as they were before the last operations.
pub(super) fn rows_with_old(ops: &[fn(&World) -> Op], before: usize, old: &[Space]) -> Rows {
    let is_old = |space: Space| old.contains(&space);
    let mut rows = rows_after(&ops[..before], |space| !is_old(space));
    rows.extend(rows_after(ops, is_old));
    rows
}

pub(super) fn task<'a>(tasks: &'a Tasks, id: &str) -> &'a Task {
    &tasks[&("r".to_owned(), id.to_owned())]
}

pub(super) const ENTRIES: [Space; 3] = [Space::Waiting, Space::Parked, Space::Dead];

fn a(_: &World) -> Op {
    schedule("r", "a", 20_000, b"of a", false)
}

fn b(_: &World) -> Op {
    schedule("r", "b", 21_000, b"of b", false)
}

fn second_a(_: &World) -> Op {
    schedule("r", "a", 22_000, b"second of a", true)
}

fn retry_a(world: &World) -> Op {
    Op::Retry {
        revision: world.revision("r", "a"),
        at: 30_000,
        attempt: 1,
        failures: 1,
        failure: Some(failure(25_000, None)),
    }
}

fn finish_a(world: &World) -> Op {
    Op::Finish(world.revision("r", "a"))
}

#[test]
fn new_tasks_get_numbers_above_all_that_exist() {
    let (store, tasks) = mended(&rows_after(&[a, b], |space| space == Space::Meta));
    assert_eq!(tasks.len(), 2);
    let mut ledger = Ledger::open(store.clone(), KEEP, Sizes::SMALL).unwrap();
    let outcome = ledger.apply(&schedule("r", "c", 20_000, b"of c", false), 10_000);
    assert!(matches!(
        outcome.unwrap(),
        Outcome::Scheduled { seq: 3.., .. }
    ));
    ledger.commit(Durability::Synced, 10_000).unwrap();
    let after = check_invariants(&store);
    assert_eq!(task(&after, "a").payload, b"of a");
    assert_eq!(task(&after, "b").payload, b"of b");
    assert_eq!(task(&after, "c").payload, b"of c");
}

#[test]
fn low_water_mark_is_not_above_the_earliest_task() {
    let ops: [fn(&World) -> Op; 3] = [
        a,
        |_| Op::AdvanceLowWater(20_000),
        |_| schedule("r", "early", 15_000, b"early", false),
    ];
    let (_, tasks) = mended(&rows_with_old(&ops, 2, &[Space::Meta]));
    assert_eq!(task(&tasks, "early").place, Place::Waiting(15_000));
}

#[test]
fn store_without_the_mark_is_not_read() {
    let rows = rows_after(&[a], |space| space == Space::Names);
    let store = damaged(&rows);
    let mut batch = Batch::new();
    batch.remove(Space::Meta, key::MENDING);
    store.commit(batch, Durability::Synced).unwrap();
    let store = open(store);
    assert_eq!(super::mend::rows(&store), rows);
}

#[test]
fn name_and_entry_without_content_are_removed() {
    let (_, tasks) = mended(&rows_after(&[a], |space| space == Space::Tasks));
    assert!(tasks.is_empty());
}

#[test]
fn entry_with_content_gets_its_name_back() {
    let (_, tasks) = mended(&rows_after(&[a, b, retry_a], |space| space == Space::Names));
    let a = task(&tasks, "a");
    assert_eq!((a.place, a.attempt), (Place::Waiting(30_000), 1));
    assert_eq!(task(&tasks, "b").payload, b"of b");
}

#[test]
fn name_with_content_gets_its_entry_back() {
    let (_, tasks) = mended(&rows_after(&[a, b], |space| ENTRIES.contains(&space)));
    assert_eq!(task(&tasks, "a").place, Place::Waiting(20_000));
    assert_eq!(task(&tasks, "b").payload, b"of b");
}

#[test]
fn content_without_name_and_entry_is_removed() {
    let is_lost = |space| space == Space::Names || ENTRIES.contains(&space);
    let (_, tasks) = mended(&rows_after(&[a], is_lost));
    assert!(tasks.is_empty());
}

#[test]
fn newer_state_of_a_revision_is_kept() {
    let ops: [fn(&World) -> Op; 2] = [a, retry_a];
    for old in [&[Space::Names][..], &ENTRIES] {
        let (_, tasks) = mended(&rows_with_old(&ops, 1, old));
        let a = task(&tasks, "a");
        assert_eq!((a.place, a.attempt), (Place::Waiting(30_000), 1), "{old:?}");
    }
}

#[test]
fn a_failure_from_before_a_newer_round_is_dropped() {
    let ops: [fn(&World) -> Op; 4] = [
        a,
        |world| Op::Bury {
            revision: world.revision("r", "a"),
            at: 25_000,
            attempt: 1,
            failures: 1,
            reason: None,
            failure: Some(failure(25_000, Some("before the kick"))),
        },
        |_| Op::Kick {
            route: "r".into(),
            id: "a".into(),
            at: 26_000,
        },
        |world| Op::Count {
            revision: world.revision("r", "a"),
            attempt: 2,
        },
    ];
    let (_, tasks) = mended(&rows_with_old(&ops, 2, &[Space::Names]));
    let a = task(&tasks, "a");
    let rounds = (a.attempt, a.failures, a.failure.clone());
    assert_eq!(rounds, (2, 0, None));
    assert!(matches!(a.place, Place::Waiting(_)), "{:?}", a.place);
}

#[test]
fn newer_revision_is_kept() {
    let ops: [fn(&World) -> Op; 2] = [a, second_a];
    for old in [&[Space::Names][..], &ENTRIES] {
        let (_, tasks) = mended(&rows_with_old(&ops, 1, old));
        assert_eq!(task(&tasks, "a").payload, b"second of a", "{old:?}");
    }
}

#[test]
fn older_revision_is_kept_if_the_newer_one_has_no_content() {
    let ops: [fn(&World) -> Op; 2] = [a, second_a];
    let old = [&[Space::Tasks][..], &ENTRIES].concat();
    let mut rows = rows_with_old(&ops, 1, &old);
    rows.retain(|(space, ..)| *space != Space::Meta);
    let (store, tasks) = mended(&rows);
    assert_eq!(task(&tasks, "a").payload, b"of a");
    // The number of the lost revision, 2, is not issued again.
    assert_eq!(SequenceNumbers::open(&*store, 1).unwrap().next(), 3);
}

#[test]
fn finished_task_is_not_scheduled_again() {
    let ops: [fn(&World) -> Op; 2] = [a, finish_a];
    let lost = |space| space == Space::Meta;
    let mut stale = rows_after(&ops, lost);
    for (space, ..) in &mut stale {
        // The other generation, which is cleared first without the lost time of the current one.
        if *space == Space::DoneEven {
            *space = Space::DoneOdd;
        }
    }
    for rows in [rows_with_old(&ops, 1, &[Space::Names]), stale] {
        let (store, tasks) = mended(&rows);
        assert!(tasks.is_empty());
        let mut ledger = Ledger::open(store, KEEP, Sizes::SMALL).unwrap();
        ledger.forget_expired(10_000).unwrap();
        let again = schedule("r", "a", 20_000, b"of a", false);
        let outcome = ledger.apply(&again, 10_000).unwrap();
        assert_eq!(outcome, Outcome::Same { fire_at: 20_000 });
    }
}

#[test]
fn task_whose_number_was_issued_again_does_not_get_the_other_content() {
    let mut rows = rows_after(&[a], |_| false);
    // An older server started without the numbers, and issued the first one again.
    rows.extend(rows_after(&[b], |space| space == Space::Counts));
    let (_, tasks) = mended(&rows);
    assert_eq!(tasks.len(), 1);
    assert_eq!(task(&tasks, "b").payload, b"of b");
}

#[test]
fn tasks_with_the_same_number_and_content_are_separated() {
    let same: fn(&World) -> Op = |_| schedule("r", "b", 20_000, b"of a", false);
    let moved: fn(&World) -> Op = |world| Op::Park(world.revision("r", "b"));
    for ops in [&[same][..], &[same, moved]] {
        let mut rows = rows_after(&[a], |_| false);
        rows.extend(rows_after(ops, |space| space == Space::Counts));
        let (_, tasks) = mended(&rows);
        assert_eq!(tasks.len(), 2);
        assert_ne!(task(&tasks, "a").seq, task(&tasks, "b").seq);
        assert_eq!(task(&tasks, "b").payload, b"of a");
    }
}

#[test]
fn rows_that_cannot_be_decoded_are_removed() {
    let mut rows = rows_after(&[a, b], |_| false);
    for (space, key, value) in &mut rows {
        let is_of_b = key.ends_with(b"b") || *space == Space::Counts;
        if is_of_b || *space == Space::Waiting {
            *value = (&value[..value.len() / 2]).into();
        }
    }
    rows.push((Space::Tasks, b"short".to_vec(), record::encode(&())));
    let (_, tasks) = mended(&rows);
    assert_eq!(tasks.len(), 1);
    assert_eq!(task(&tasks, "a").place, Place::Waiting(20_000));
}
