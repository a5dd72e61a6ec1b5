use super::*;
use crate::{ledger::SweepAct, scheduler::tests::stored_tasks::StoredTasks};
use hyper_delay_protocol::Terms;
use hyper_delay_store::fake::Fake;

const NOW: u64 = 10_000;

const TIMES: BatchTimes = BatchTimes {
    now: NOW,
    latest: NOW,
};

/// Returns a view of a store with this number of waiting tasks of a route, and their revisions.
fn scheduled(tasks: usize) -> (LedgerView<Fake>, Vec<u64>) {
    let mut stored = StoredTasks::new();
    let seqs = (0..tasks)
        .map(|number| stored.schedule(&number.to_string(), NOW, Terms::default()))
        .collect();
    (stored.view(), seqs)
}

fn purge(id: u64) -> RunningBulkJob {
    RunningBulkJob {
        id,
        act: BulkAct::Purge,
        route: "route".into(),
        filter: Filter::default(),
        in_flight: false,
        cursor: Box::default(),
        changed: 0,
        is_stopping: false,
    }
}

/// The revisions that a batch changes, and the step that ends it.
fn parts(ops: Vec<Op>) -> (Vec<u64>, BulkAdvance) {
    let mut changed = Vec::new();
    let mut advance = None;
    for op in ops {
        match op {
            Op::Sweep(sweep) => {
                assert_eq!((sweep.job, sweep.act), (Some(u64::MAX), SweepAct::Purge));
                changed.push(sweep.seq);
            }
            Op::AdvanceBulk(it) => advance = Some(*it),
            op => panic!("{op:?}"),
        }
    }
    (changed, advance.expect("a batch ends with its step"))
}

#[test]
fn a_batch_begins_where_the_last_one_ended_once_that_is_on_disk() {
    let (view, seqs) = scheduled(5);
    let mut bulk = BulkQueue::default();
    bulk.push(purge(u64::MAX));
    let is_in_flight = |seq| seq == seqs[1];
    let next = |bulk: &mut BulkQueue| {
        assert!(bulk.is_due());
        let ops = bulk
            .next_batch(&view, Sizes::SMALL, TIMES, is_in_flight)
            .unwrap();
        assert!(!bulk.is_due(), "the batch is not on disk");
        parts(ops)
    };
    let (changed, advance) = next(&mut bulk);
    assert_eq!(changed, [seqs[0], seqs[2], seqs[3]]);
    assert_eq!(
        (advance.state, &*advance.cursor),
        (JobState::Running, &b"3"[..])
    );
    bulk.advance(advance, true);
    let (changed, advance) = next(&mut bulk);
    assert_eq!((changed, advance.state), (vec![seqs[4]], JobState::Done));
    bulk.advance(advance, true);
    assert!(bulk.queue.is_empty() && !bulk.is_due());
}

#[test]
fn a_bulk_operation_that_is_stopped_ends_after_its_batch_and_the_next_one_begins() {
    let (view, _) = scheduled(5);
    let mut bulk = BulkQueue::default();
    bulk.push(purge(u64::MAX));
    bulk.push(purge(7));
    let ops = bulk
        .next_batch(&view, Sizes::SMALL, TIMES, |_| false)
        .unwrap();
    let (_, batch) = parts(ops);
    assert_eq!(bulk.stop(8, Actor::default(), NOW), None, "it is not known");
    let end = bulk.stop(u64::MAX, Actor::default(), NOW);
    let Some(Op::AdvanceBulk(end)) = end else {
        panic!("{end:?}");
    };
    bulk.advance(batch, true);
    assert!(!bulk.is_due(), "its end is not on disk");
    bulk.advance(*end, true);
    assert!(bulk.is_due());
    assert_eq!(bulk.queue.front().map(|running| running.id), Some(7));
}

#[test]
fn a_bulk_operation_that_meets_damage_fails() {
    let (view, _) = scheduled(1);
    let mut bulk = BulkQueue::default();
    let no_text = Box::new([0xff]);
    bulk.push(RunningBulkJob {
        cursor: no_text,
        ..purge(u64::MAX)
    });
    let ops = bulk
        .next_batch(&view, Sizes::SMALL, TIMES, |_| false)
        .unwrap();
    let (changed, advance) = parts(ops);
    assert_eq!((changed, advance.state), (vec![], JobState::Failed));
}

#[test]
fn those_on_their_way_to_the_disk_count_for_the_limit() {
    let mut bulk = BulkQueue::default();
    for id in 1..MAX_JOBS as u64 {
        bulk.push(purge(id));
    }
    assert!(bulk.has_room());
    bulk.begin();
    assert!(!bulk.has_room());
    bulk.end_begin();
    assert!(bulk.has_room());
}
