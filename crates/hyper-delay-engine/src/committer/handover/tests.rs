use std::{sync::mpsc, thread};

use super::*;
use crate::{
    ledger::{Op, Outcome},
    scheduler::{Committed, Token},
};

const LONG: Duration = Duration::from_secs(60);

fn group(jobs: usize, bytes: usize) -> Group {
    let committed = (0..jobs).map(|_| Committed {
        op: Op::AdvanceLowWater(0),
        token: Token::None,
        outcome: Outcome::Moved(true),
    });
    Group {
        committed: committed.collect(),
        bytes,
        ..Group::default()
    }
}

fn jobs(taken: Taken) -> usize {
    match taken {
        Taken::Group(group) => group.committed.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_group_grows_until_it_has_the_jobs_that_the_writer_waits_for() {
    let handover = Handover::default();
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(handover.take(None, (3, LONG))));
        handover.offer(group(1, 0));
        for jobs in 2..=3 {
            let (waiting, _) = handover.reopen().unwrap();
            assert_eq!(waiting.unwrap().committed.len(), jobs - 1);
            handover.offer(group(jobs, 0));
        }
        let (waiting, _) = handover.reopen().unwrap();
        assert!(waiting.is_none(), "the writer has enough, and sleeps on");
        assert_eq!(writer.join().unwrap(), 3);
    });
}

#[test]
fn a_group_that_is_full_by_its_bytes_is_taken_at_once() {
    let handover = Handover::default();
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(handover.take(None, (3, LONG))));
        handover.offer(group(1, 0));
        handover.reopen().unwrap();
        handover.offer(group(2, Group::BYTES));
        assert_eq!(writer.join().unwrap(), 2);
    });
}

#[test]
fn a_busy_applier_does_not_keep_the_group_from_the_writer() {
    let handover = Handover::default();
    let patience = (Group::JOBS, Duration::from_millis(1));
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(handover.take(None, patience)));
        let mut offered = 0;
        while !writer.is_finished() && offered < Group::JOBS {
            let (waiting, _) = handover.reopen().unwrap();
            offered = waiting.map_or(0, |group| group.committed.len()) + 1;
            handover.offer(group(offered, 0));
            thread::sleep(Duration::from_micros(50));
        }
        assert!(writer.join().unwrap() < Group::JOBS);
    });
}

#[test]
fn a_group_that_the_applier_has_when_the_patience_ends_is_waited_for() {
    let handover = Handover::default();
    let patience = Duration::from_millis(50);
    thread::scope(|scope| {
        let writer = scope.spawn(|| jobs(handover.take(None, (3, patience))));
        handover.offer(group(1, 0));
        let (waiting, _) = handover.reopen().unwrap();
        // On a slow machine the patience can end before the group is taken back.
        if waiting.is_some() {
            thread::sleep(2 * patience);
            handover.offer(group(2, 0));
        }
        let taken = writer.join().unwrap();
        assert_eq!(taken, if waiting.is_some() { 2 } else { 1 });
    });
}

#[test]
fn nothing_in_time_is_nothing() {
    let handover = Handover::default();
    let taken = handover.take(Some(Duration::from_millis(1)), (3, LONG));
    assert!(matches!(taken, Taken::Nothing));
}

#[test]
fn the_end_of_the_applier_comes_after_its_last_group_and_needs_no_patience() {
    let handover = Handover::default();
    handover.offer(group(1, 0));
    handover.end_applier(Err(StoreError::new("test", "the first")));
    handover.end_applier(Ok(()));
    assert_eq!(jobs(handover.take(None, (3, LONG))), 1);
    let Taken::End(Err(error)) = handover.take(None, (3, LONG)) else {
        panic!("the first result counts");
    };
    assert!(error.to_string().contains("the first"));
}

#[test]
fn flush_waits_until_the_writer_comes_back() {
    let handover = Handover::default();
    handover.offer(group(1, 0));
    assert_eq!(jobs(handover.take(None, (0, LONG))), 1);
    let (sender, flushed) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(handover.flush().unwrap()).unwrap());
        assert!(flushed.recv_timeout(Duration::from_millis(20)).is_err());
        handover.take(Some(Duration::ZERO), (0, LONG));
        assert_eq!(flushed.recv().unwrap(), 1);
    });
}

#[test]
fn the_end_of_the_writer_ends_every_wait() {
    let handover = Handover::default();
    handover.offer(group(Group::JOBS, 0));
    thread::scope(|scope| {
        let waits = [
            scope.spawn(|| handover.reopen().is_err()),
            scope.spawn(|| handover.flush().is_err()),
        ];
        handover.end_writer();
        for wait in waits {
            assert!(wait.join().unwrap());
        }
    });
}
