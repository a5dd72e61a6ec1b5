use std::{sync::mpsc, thread};

use super::*;
use crate::{
    ledger::{Op, Outcome},
    scheduler::{CommitToken, CommittedJob},
};

const LONG: Duration = Duration::from_secs(60);

fn group(jobs: usize, bytes: usize) -> Group {
    let committed = (0..jobs).map(|_| CommittedJob {
        op: Op::AdvanceLowWater(0),
        token: CommitToken::None,
        outcome: Outcome::Applied(true),
    });
    Group {
        committed: committed.collect(),
        bytes,
        ..Group::default()
    }
}

fn jobs(taken: NextGroup) -> usize {
    match taken {
        NextGroup::Group(group) => group.committed.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_group_grows_until_it_has_the_jobs_that_the_writer_waits_for() {
    let slot = GroupSlot::default();
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(slot.take(None, (3, LONG))));
        slot.offer(group(1, 0));
        for jobs in 2..=3 {
            let (waiting, _) = slot.reopen().unwrap();
            assert_eq!(waiting.unwrap().committed.len(), jobs - 1);
            slot.offer(group(jobs, 0));
        }
        let (waiting, _) = slot.reopen().unwrap();
        assert!(waiting.is_none(), "the writer has enough, and sleeps on");
        assert_eq!(writer.join().unwrap(), 3);
    });
}

#[test]
fn a_group_that_is_full_by_its_bytes_is_taken_at_once() {
    let slot = GroupSlot::default();
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(slot.take(None, (3, LONG))));
        slot.offer(group(1, 0));
        slot.reopen().unwrap();
        slot.offer(group(2, Group::BYTES));
        assert_eq!(writer.join().unwrap(), 2);
    });
}

#[test]
fn a_busy_applier_does_not_keep_the_group_from_the_writer() {
    let slot = GroupSlot::default();
    let patience = (Group::JOBS, Duration::from_millis(1));
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(slot.take(None, patience)));
        let mut offered = 0;
        while !writer.is_finished() && offered < Group::JOBS {
            let (waiting, _) = slot.reopen().unwrap();
            offered = waiting.map_or(0, |group| group.committed.len()) + 1;
            slot.offer(group(offered, 0));
            thread::sleep(Duration::from_micros(50));
        }
        assert!(writer.join().unwrap() < Group::JOBS);
    });
}

#[test]
fn a_group_that_the_applier_has_when_the_patience_ends_is_waited_for() {
    let slot = GroupSlot::default();
    let patience = Duration::from_millis(50);
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(slot.take(None, (3, patience))));
        slot.offer(group(1, 0));
        let (waiting, _) = slot.reopen().unwrap();
        // On a slow machine the patience can end before the group is taken back.
        if waiting.is_some() {
            thread::sleep(2 * patience);
            slot.offer(group(2, 0));
        }
        let taken = writer.join().unwrap();
        assert_eq!(taken, if waiting.is_some() { 2 } else { 1 });
    });
}

#[test]
fn nothing_in_time_is_nothing() {
    let slot = GroupSlot::default();
    let taken = slot.take(Some(Duration::from_millis(1)), (3, LONG));
    assert!(matches!(taken, NextGroup::Nothing));
}

#[test]
fn the_end_of_the_applier_comes_after_its_last_group_and_needs_no_patience() {
    let slot = GroupSlot::default();
    slot.offer(group(1, 0));
    slot.end_applier(Err(StoreError::new("test", "the first")));
    slot.end_applier(Ok(()));
    assert_eq!(jobs(slot.take(None, (3, LONG))), 1);
    let NextGroup::End(Err(error)) = slot.take(None, (3, LONG)) else {
        panic!("the first result counts");
    };
    assert!(error.to_string().contains("the first"));
}

#[test]
fn flush_waits_until_the_writer_comes_back() {
    let slot = GroupSlot::default();
    slot.offer(group(1, 0));
    assert_eq!(jobs(slot.take(None, (0, LONG))), 1);
    let (sender, flushed) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(slot.flush().unwrap()).unwrap());
        assert!(flushed.recv_timeout(Duration::from_millis(20)).is_err());
        slot.take(Some(Duration::ZERO), (0, LONG));
        assert_eq!(flushed.recv().unwrap(), 1);
    });
}

#[test]
fn the_end_of_the_writer_ends_every_wait() {
    let slot = GroupSlot::default();
    slot.offer(group(Group::JOBS, 0));
    thread::scope(|scope| {
        let waits = [
            scope.spawn(|| slot.reopen().is_err()),
            scope.spawn(|| slot.flush().is_err()),
        ];
        slot.end_writer();
        for wait in waits {
            assert!(wait.join().unwrap());
        }
    });
}
