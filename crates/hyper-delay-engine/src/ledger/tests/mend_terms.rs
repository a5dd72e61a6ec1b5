//! Stores with tasks that have terms and headers, which lost rows and are mended.

use super::{
    invariants::check_invariants,
    mend::{ENTRIES, Rows, mended, rows_after, rows_with_old, task},
    world::{World, expiring, schedule},
};
use crate::{
    ledger::{Ledger, Op, Outcome, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_store::{
    Batch, Durability, Space, Store as _,
    record::{self, ExpiryEntry, Place, key},
};

fn a(_: &World) -> Op {
    expiring("a", 20_000, 40_000, false)
}

fn later_a(_: &World) -> Op {
    expiring("a", 21_000, 50_000, true)
}

fn endless_a(_: &World) -> Op {
    schedule("r", "a", 22_000, b"without an end", true)
}

fn b(_: &World) -> Op {
    expiring("b", 20_000, 40_000, false)
}

fn park_b(world: &World) -> Op {
    Op::Park(world.revision("r", "b"))
}

fn bury_b(world: &World) -> Op {
    Op::Bury {
        revision: world.revision("r", "b"),
        at: 30_000,
        attempt: 1,
        failures: 1,
        reason: Some("no disk".into()),
        failure: None,
    }
}

fn is_index((space, key, _): &(Space, Vec<u8>, hyper_delay_store::Bytes)) -> bool {
    *space == Space::Meta && key.starts_with(key::EXPIRY)
}

/// Mends a store whose index is whole, missing, and of an earlier state of the store. The audit
/// compares the index with the names.
#[track_caller]
fn mended_with_every_index(rows: &Rows, earlier: &Rows, check: impl Fn(&super::mend::Tasks)) {
    check(&mended(rows).1);
    let mut without = rows.clone();
    without.retain(|row| !is_index(row));
    check(&mended(&without).1);
    without.extend(earlier.iter().filter(|row| is_index(row)).cloned());
    check(&mended(&without).1);
}

#[test]
fn index_of_expiry_is_rebuilt_whatever_other_space_is_lost() {
    let ops: [fn(&World) -> Op; 4] = [a, b, park_b, bury_b];
    let whole = rows_after(&ops, |_| false);
    let (_, before) = mended(&whole);
    assert_eq!(before.len(), 2);
    for lost in [&[][..], &[Space::Names], &ENTRIES] {
        for steps in 2..=ops.len() {
            let (_, before) = mended(&rows_after(&ops[..steps], |_| false));
            let rows = rows_after(&ops[..steps], |space| lost.contains(&space));
            mended_with_every_index(&rows, &rows_after(&ops[..1], |_| false), |tasks| {
                assert_eq!(*tasks, before, "without {lost:?} after {steps} operations");
            });
        }
    }
}

#[test]
fn index_has_the_expiry_of_the_revision_that_is_kept() {
    let endless: [fn(&World) -> Op; 2] = [a, endless_a];
    let later: [fn(&World) -> Op; 2] = [a, later_a];
    for (ops, expires_at) in [(&later, Some(50_000)), (&endless, None)] {
        let earlier = rows_after(&ops[..1], |_| false);
        for old in [&[Space::Names][..], &ENTRIES] {
            let rows = rows_with_old(ops, 1, old);
            mended_with_every_index(&rows, &earlier, |tasks| {
                let terms = task(tasks, "a").terms.as_ref();
                assert_eq!(terms.and_then(|terms| terms.expires_at), expires_at);
            });
        }
        // The newer revision has no content, so the older one is kept.
        let rows = rows_with_old(ops, 1, &[&[Space::Tasks][..], &ENTRIES].concat());
        mended_with_every_index(&rows, &earlier, |tasks| {
            let kept = task(tasks, "a");
            assert_eq!(kept.place, Place::Waiting(20_000));
            assert_eq!(kept.headers, r#"{"a":"b"}"#);
            assert_eq!(kept.terms.as_ref().unwrap().expires_at, Some(40_000));
        });
    }
}

#[test]
fn rows_of_the_index_that_belong_to_no_task_are_removed() {
    let mut rows = rows_after(&[a, endless_a], |_| false);
    let (route, id) = ("r", "a");
    let stray = record::encode(&ExpiryEntry { route, id });
    for (at, seq) in [(40_000, 1), (40_000, 2), (7, 9)] {
        rows.push((Space::Meta, key::expiry(at, seq), stray.clone()));
    }
    rows.push((Space::Meta, key::expiry(8, 9), (*b"\xff").into()));
    let (_, tasks) = mended(&rows);
    assert_eq!(task(&tasks, "a").terms, None);
}

#[test]
fn row_of_the_index_with_another_name_is_corrected() {
    let mut rows = rows_after(&[a, b], |_| false);
    let (route, id) = ("r", "a");
    let wrong = record::encode(&ExpiryEntry { route, id });
    for row in rows.iter_mut().filter(|row| is_index(row)) {
        row.2 = wrong.clone();
    }
    let (_, tasks) = mended(&rows);
    assert_eq!(tasks.len(), 2);
}

#[test]
fn renumbered_task_keeps_its_terms_and_its_row_in_the_index() {
    for ops in [&[b as fn(&World) -> Op][..], &[b, park_b], &[b, bury_b]] {
        let mut rows = rows_after(&[a], |_| false);
        // An older server started without the numbers, and issued the first one again.
        rows.extend(rows_after(ops, |space| space == Space::Counts));
        mended_with_every_index(&rows, &rows_after(&[a], |_| false), |tasks| {
            let [a, b] = ["a", "b"].map(|id| task(tasks, id));
            assert_ne!(a.seq, b.seq);
            assert!(a.terms.is_some() && a.terms == b.terms);
            assert_eq!(a.headers, b.headers);
        });
    }
}

#[test]
fn stray_row_of_the_index_is_removed_when_its_time_comes() {
    let world = World::new();
    let (route, id) = ("r", "a");
    let mut batch = Batch::new();
    let row = record::encode(&ExpiryEntry { route, id });
    batch.put(Space::Meta, key::expiry(40_000, 9), row);
    world.store.commit(batch, Durability::Synced).unwrap();
    let mut ledger = Ledger::open(world.store.clone(), 0, Sizes::SMALL).unwrap();
    let revision = TaskRevision {
        route: route.into(),
        id: id.into(),
        seq: 9,
        attempt: 0,
    };
    let at = 40_000;
    let outcome = ledger.apply(&Op::Expire { revision, at }, at).unwrap();
    assert_eq!(outcome, Outcome::Applied(false));
    ledger.commit(Durability::Synced, at).unwrap();
    assert!(check_invariants(&world.store).is_empty());
}
