//! When the committer syncs, and when it reports.

mod disk_space;

use std::{
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{group::Group, *};
use crate::{
    clock::Clock,
    ledger::{Op, Outcome, PendingLimits, ScheduleOrder},
    scheduler::{CommitToken, CommittedJob},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::{
    Space, StoreError,
    fake::{CallCounts, Fake, Syncs},
};

/// The reported groups, the number of unsynced writes at each report, and the result.
struct Run {
    reported: Vec<Vec<CommittedJob>>,
    unsynced: Vec<usize>,
    result: Result<(), StoreError>,
}

fn job(id: usize) -> CommitJob {
    let op = Op::Schedule(ScheduleOrder {
        route: "r".into(),
        id: id.to_string().into(),
        named: true,
        at: 1,
        fire_at: 1,
        delay_ms: None,
        compression: Compression::None,
        payload: vec![0; 100].into(),
        replace: false,
        headers: hyper_delay_protocol::Headers::default(),
        terms: None,
    });
    CommitJob {
        most_pending: PendingLimits::default(),
        op,
        token: CommitToken::None,
    }
}

fn cancel(id: &str) -> CommitJob {
    let op = Op::Cancel {
        route: "r".into(),
        id: id.into(),
    };
    CommitJob {
        most_pending: PendingLimits::default(),
        op,
        token: CommitToken::None,
    }
}

fn over(store: &Arc<Fake>, sync: Sync, jobs: Receiver<Vec<CommitJob>>) -> Run {
    let (mut reported, mut unsynced) = (Vec::new(), Vec::new());
    let result = run(store, sync, jobs, |group| {
        unsynced.push(store.unsynced());
        reported.push(group);
    });
    Run {
        reported,
        unsynced,
        result,
    }
}

/// Runs the writer here and the applier in a thread, which ends when the writer or the jobs do.
fn run(
    store: &Arc<Fake>,
    sync: Sync,
    jobs: Receiver<Vec<CommitJob>>,
    report: impl FnMut(Vec<CommittedJob>),
) -> Result<(), StoreError> {
    run_with_window(store, 0, sync, jobs, report)
}

fn run_with_window(
    store: &Arc<Fake>,
    dedupe_millis: u64,
    sync: Sync,
    jobs: Receiver<Vec<CommitJob>>,
    report: impl FnMut(Vec<CommittedJob>),
) -> Result<(), StoreError> {
    let ledger = Ledger::open(store.clone(), dedupe_millis, Sizes::SMALL).unwrap();
    let clock = Clock::new();
    let (applier, writer) = committer(store.clone(), ledger, sync, jobs, clock);
    thread::spawn(|| applier.run());
    writer.run(report)
}

/// Runs over jobs that are all queued, `each` in a group.
fn all_at_once(store: &Arc<Fake>, sync: Sync, count: usize, each: usize) -> Run {
    let (sender, receiver) = mpsc::channel();
    for first in (0..count).step_by(each) {
        let jobs = (first..first + each).map(job).collect();
        sender.send(jobs).unwrap();
    }
    drop(sender);
    over(store, sync, receiver)
}

fn sizes(run: &Run) -> Vec<usize> {
    run.reported.iter().map(Vec::len).collect()
}

#[test]
fn queued_jobs_share_one_sync() {
    let store = Arc::new(Fake::default());
    let run = all_at_once(&store, Sync::Always, 30, 3);
    run.result.as_ref().unwrap();
    assert_eq!(sizes(&run), [30]);
    // One of the group, and one at the end.
    let CallCounts { commits, syncs, .. } = store.calls();
    assert_eq!((commits, syncs), (1, 2));
}

#[test]
fn a_group_has_a_maximum_size() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Hang);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        sender.send(vec![job(0)]).unwrap();
        wait_until(|| store.calls().commits == 1);
        for first in (1..=2 * Group::JOBS).step_by(64) {
            sender.send((first..first + 64).map(job).collect()).unwrap();
        }
        drop(sender);
        // The applier has begun to apply them when it measures the room for them.
        wait_until(|| store.calls().disk_space_checks > 2);
        thread::sleep(Duration::from_millis(100));
        store.set_syncs(Syncs::Work);
        let run = running.join().unwrap();
        run.result.as_ref().unwrap();
        let sizes = sizes(&run);
        assert_eq!(sizes.iter().sum::<usize>(), 2 * Group::JOBS + 1);
        assert!(sizes.iter().all(|jobs| *jobs <= Group::JOBS), "{sizes:?}");
    });
}

#[test]
fn a_group_has_a_maximum_of_payload_bytes() {
    let store = Arc::new(Fake::default());
    let (sender, receiver) = mpsc::channel();
    for id in 0..8 {
        let mut job = job(id);
        if let Op::Schedule(order) = &mut job.op {
            order.payload = vec![0; Group::BYTES / 2].into();
        }
        sender.send(vec![job]).unwrap();
    }
    drop(sender);
    let run = over(&store, Sync::Always, receiver);
    assert_eq!(sizes(&run), [2; 4]);
}

#[test]
fn jobs_are_reported_after_their_sync() {
    let store = Arc::new(Fake::default());
    let run = all_at_once(&store, Sync::Always, 3 * Group::JOBS, Group::JOBS);
    run.result.unwrap();
    assert!(run.unsynced.len() >= 3);
    assert!(run.unsynced.iter().all(|unsynced| *unsynced == 0));
}

#[test]
fn jobs_are_reported_in_order() {
    let store = Arc::new(Fake::default());
    let run = all_at_once(&store, Sync::Always, 10_000, 7 * 10);
    run.result.unwrap();
    let reported = run.reported.into_iter().flatten();
    let ids: Vec<usize> = reported
        .map(|committed| match committed.op {
            Op::Schedule(order) => order.id.parse().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.len(), 10_000_usize.next_multiple_of(70));
}

#[test]
fn jobs_that_arrive_during_a_sync_share_the_next_one_and_see_the_first() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Hang);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        sender.send(vec![job(1)]).unwrap();
        wait_until(|| store.calls().commits == 1);
        for id in [2, 1, 3] {
            sender.send(vec![job(id)]).unwrap();
        }
        sender.send(vec![cancel("1"), job(1), cancel("2")]).unwrap();
        drop(sender);
        // The applier applies them while the sync hangs.
        wait_until(|| store.calls().disk_space_checks > 2);
        store.set_syncs(Syncs::Work);
        let run = running.join().unwrap();
        run.result.unwrap();
        assert_eq!(run.reported[0].len(), 1);
        let outcomes: Vec<Outcome> = run.reported[1..]
            .iter()
            .flatten()
            .map(|committed| committed.outcome.clone())
            .collect();
        let scheduled = |seq| Outcome::Scheduled {
            seq,
            attempt: 0,
            replaced: None,
        };
        assert_eq!(
            outcomes,
            [
                scheduled(2),
                Outcome::Same { fire_at: 1 },
                scheduled(3),
                Outcome::Cancelled(Some(1)),
                scheduled(4),
                Outcome::Cancelled(Some(2)),
            ]
        );
    });
    assert_eq!(store.all(Space::Names).len(), 2);
}

#[test]
fn a_burst_is_written_in_parts_that_an_idle_writer_takes() {
    let store = Arc::new(Fake::default());
    let (sender, receiver) = mpsc::channel();
    sender.send((0..3000).map(job).collect()).unwrap();
    drop(sender);
    let run = over(&store, Sync::Always, receiver);
    run.result.as_ref().unwrap();
    let sizes = sizes(&run);
    assert_eq!(sizes[0], Group::ENOUGH);
    assert_eq!(sizes.iter().sum::<usize>(), 3000);
    // The room was measured at the start and for each part.
    assert!(store.calls().disk_space_checks > sizes.len(), "{sizes:?}");
}

#[test]
fn a_store_that_cannot_be_read_ends_the_writer_with_its_error() {
    let store = Arc::new(Fake::default());
    store.fail_disk_space_checks();
    let (_sender, receiver) = mpsc::channel();
    let run = over(&store, Sync::Always, receiver);
    let error = run.result.unwrap_err().to_string();
    assert!(error.contains("look at the disk"), "{error}");
}

#[test]
fn a_failed_sync_reports_nothing() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Fail);
    let run = all_at_once(&store, Sync::Always, 10, 1);
    let error = run.result.unwrap_err().to_string();
    assert!(error.contains("the disk has failed"), "{error}");
    assert!(run.reported.is_empty());
}

#[test]
fn jobs_reported_before_a_failed_sync_are_on_disk() {
    let store = Arc::new(Fake::default());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        sender.send(vec![job(1)]).unwrap();
        wait_until(|| store.calls().syncs == 1);
        store.set_syncs(Syncs::Fail);
        sender.send(vec![job(2)]).unwrap();
        let run = running.join().unwrap();
        run.result.unwrap_err();
        assert_eq!(run.reported.len(), 1);
    });
    assert_eq!(store.power_loss(0).all(Space::Names).len(), 1);
}

#[test]
fn a_failed_interval_sync_ends_the_committer() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Fail);
    let sync = Sync::Interval(Duration::from_millis(1));
    let (sender, receiver) = mpsc::channel();
    sender.send(vec![job(1)]).unwrap();
    let run = over(&store, sync, receiver);
    run.result.unwrap_err();
    assert_eq!(run.reported.len(), 1);
    drop(sender);
}

#[test]
fn an_idle_committer_syncs_after_the_interval() {
    let store = Arc::new(Fake::default());
    with_interval(&store, Duration::from_millis(5), |sender| {
        sender.send(vec![job(1)]).unwrap();
        wait_until(|| store.calls().syncs == 1);
        assert_eq!(store.unsynced(), 0);
    });
}

#[test]
fn a_busy_committer_syncs_after_the_interval() {
    let store = Arc::new(Fake::default());
    with_interval(&store, Duration::from_millis(5), |sender| {
        let mut id = 0;
        wait_until(|| {
            id += 1;
            sender.send(vec![job(id)]).unwrap();
            store.calls().syncs >= 3
        });
    });
}

#[test]
fn without_writes_the_interval_causes_no_sync() {
    let store = Arc::new(Fake::default());
    let interval = Duration::from_millis(1);
    with_interval(&store, interval, |_| thread::sleep(10 * interval));
    assert_eq!(store.calls().syncs, 1);
}

#[test]
fn the_end_syncs_in_interval_mode() {
    let store = Arc::new(Fake::default());
    let sync = Sync::Interval(Duration::from_secs(60));
    let run = all_at_once(&store, sync, 10, 1);
    run.result.unwrap();
    assert_eq!(run.unsynced, [1]);
    assert_eq!((store.calls().syncs, store.unsynced()), (1, 0));
}

#[test]
fn in_never_mode_only_the_end_syncs() {
    let store = Arc::new(Fake::default());
    let run = all_at_once(&store, Sync::Never, 3 * Group::JOBS, Group::JOBS);
    run.result.unwrap();
    let groups = run.reported.len();
    assert!(groups >= 3);
    assert!(run.unsynced.into_iter().eq(1..=groups));
    assert_eq!((store.calls().syncs, store.unsynced()), (1, 0));
}

fn with_interval(store: &Arc<Fake>, interval: Duration, act: impl FnOnce(Sender<Vec<CommitJob>>)) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let running = scope.spawn(move || over(store, Sync::Interval(interval), receiver));
        act(sender);
        running.join().unwrap().result.unwrap();
    });
    assert_eq!(store.unsynced(), 0);
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
        thread::sleep(Duration::from_millis(1));
    }
}
