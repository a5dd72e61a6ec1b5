//! Damage to the end of a journal, which a crash can cause.

use super::fixture::{ClosedStore, batch, found};
use hyper_delay_store::{Durability, ReadStore as _, Space, Store};

#[test]
fn journal_cut_in_an_unrecorded_batch_has_all_batches_before_it() {
    let closed = ClosedStore::of(3, 40);
    for cut in closed.last().step_by(5) {
        for zeros in [0, 100] {
            let copy = closed.with_journal(&closed.bytes[..cut], zeros, 2);
            let store = copy.open();
            let store = store.unwrap_or_else(|error| panic!("cut at {cut} + {zeros}: {error}"));
            assert_eq!(closed.found(&store), [1, 2], "cut at {cut} + {zeros}");
            let has_copy = !copy.quarantines("cut-").is_empty();
            assert_eq!(has_copy, cut > closed.last().start, "cut at {cut}");
        }
    }
    let copy = closed.with_journal(&closed.bytes, 64 << 20, 2);
    assert_eq!(closed.found(&copy.open().unwrap()), [1, 2, 3]);
}

#[test]
fn journal_cut_in_a_recorded_batch_is_refused() {
    let closed = ClosedStore::of(3, 40);
    for cut in closed.last().step_by(29) {
        for zeros in [0, 100] {
            let copy = closed.with_journal(&closed.bytes[..cut], zeros, 3);
            let message = copy.refused();
            for expected in [
                "space names ends at commit 2, and the commit record says 3",
                "space waiting ends at commit 2, and the commit record says 3",
                "(commits: 1, schedules: 1, removals: 1)",
                "--accept-loss",
                "`hyper-delay verify /",
                "`hyper-delay repair /",
                "`hyper-delay export /",
            ] {
                assert!(message.contains(expected), "{expected:?}: {message}");
            }
        }
    }
}

#[test]
fn batches_written_after_a_cut_survive_the_next_start() {
    let closed = ClosedStore::of(3, 40);
    for cut in closed.last().step_by(37) {
        for zeros in [0, 100_000] {
            let copy = closed.with_journal(&closed.bytes[..cut], zeros, 2);
            let store = copy.open().unwrap();
            store.commit(batch(3, 40), Durability::Synced).unwrap();
            store.commit(batch(4, 40), Durability::Synced).unwrap();
            drop(store);
            let store = copy.open().unwrap();
            assert_eq!(found(&store, 4, 40), [1, 2, 3, 4], "cut at {cut}");
        }
    }
}

/// A power failure can lose any of the pages of a write.
#[test]
fn unrecorded_batch_with_a_hole_is_copied_and_cut_off() {
    let closed = ClosedStore::of(3, 9_000);
    let last = closed.last();
    for hole in last.clone().step_by(700) {
        let mut bytes = closed.bytes.clone();
        bytes[hole..last.end.min(hole + 512)].fill(0);
        let copy = closed.with_journal(&bytes, 1_000, 2);
        let store = copy.open();
        let store = store.unwrap_or_else(|error| panic!("hole at {hole}: {error}"));
        assert_eq!(closed.found(&store), [1, 2], "hole at {hole}");
        let quarantine = &copy.quarantines("cut-")[0];
        let kept = std::fs::read(quarantine.join("0.jnl")).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        assert_eq!(kept, bytes[..end], "hole at {hole}");
    }
}

#[test]
fn unrecorded_batch_with_a_flipped_bit_is_cut_off_or_whole() {
    let closed = ClosedStore::of(3, 40);
    for at in closed.last().step_by(3) {
        let mut bytes = closed.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let copy = closed.with_journal(&bytes, 0, 2);
        let store = copy.open();
        let store = store.unwrap_or_else(|error| panic!("flip at {at}: {error}"));
        let is_seqno = (5..13).contains(&(at - closed.last().start));
        match closed.found(&store)[..] {
            [1, 2] => {}
            [1, 2, 3] if is_seqno => {}
            ref other => panic!("flip at {at}: {other:?}"),
        }
    }
}

#[test]
fn recorded_batch_with_a_flipped_bit_is_refused_or_whole() {
    let closed = ClosedStore::of(3, 40);
    for at in (0..closed.bytes.len()).step_by(7) {
        let mut bytes = closed.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let copy = closed.with_journal(&bytes, 0, 3);
        match copy.open() {
            Ok(store) => assert_eq!(closed.found(&store), [1, 2, 3], "flip at {at}"),
            Err(error) => {
                assert!(error.is_damage(), "flip at {at}: {error}");
                drop(copy.refused());
            }
        }
    }
}

/// The record is older than the last commit if not every commit is synced.
#[test]
fn damage_after_the_last_recorded_batch_cuts_off_all_that_follows() {
    let closed = ClosedStore::of(4, 40);
    for at in (closed.starts[1] + 13..closed.starts[2]).step_by(19) {
        let mut bytes = closed.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let copy = closed.with_journal(&bytes, 0, 1);
        let store = copy.open().unwrap();
        assert_eq!(closed.found(&store), [1], "flip at {at}");
    }
}

#[test]
fn record_names_a_commit_only_once_it_is_synced() {
    let closed = ClosedStore::of(1, 40);
    let copy = closed.copy();
    let store = copy.open().unwrap();
    let record = || std::fs::read(copy.path("commits")).unwrap();
    let before = record();
    store.commit(batch(2, 40), Durability::Written).unwrap();
    assert_eq!(record(), before);
    store.sync().unwrap();
    assert_ne!(record(), before);
    drop(store);
    assert_eq!(found(&copy.open().unwrap(), 2, 40), [1, 2]);
}

#[test]
fn scans_skip_markers() {
    let closed = ClosedStore::of(2, 40);
    let copy = closed.copy();
    let store = copy.open().unwrap();
    for (space, expected) in [(Space::Names, 3), (Space::Waiting, 2), (Space::Tasks, 0)] {
        let mut keys = 0;
        let mut count = |_: &[u8], _: &[u8]| {
            keys += 1;
            std::ops::ControlFlow::Continue(())
        };
        store.scan(space, &[], &mut count).unwrap();
        store.scan(space, &[0xff; 30], &mut count).unwrap();
        assert_eq!(keys, expected, "{space:?}");
    }
}
