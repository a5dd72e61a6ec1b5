//! What the committer does when the disk has no room.

mod exhausted;

use super::*;
use crate::{ledger::TaskRevision, sizes::Sizes};
use hyper_delay_protocol::Headers;
use hyper_delay_store::DiskSpace;

fn schedule(id: &str, payload: &[u8], replace: bool) -> CommitJob {
    let mut job = job(0);
    if let Op::Schedule(order) = &mut job.op {
        order.id = id.into();
        order.payload = payload.into();
        order.replace = replace;
    }
    job
}

/// Runs over these groups, with this room on the disk.
fn with_room(store: &Arc<Fake>, room: DiskSpace, groups: Vec<Vec<CommitJob>>) -> Vec<Outcome> {
    store.set_disk_space(room);
    let (sender, receiver) = mpsc::channel();
    for jobs in groups {
        sender.send(jobs).unwrap();
    }
    drop(sender);
    let run = over(store, Sync::Always, receiver);
    run.result.unwrap();
    let reported = run.reported.into_iter().flatten();
    reported.map(|committed| committed.outcome).collect()
}

#[test]
fn without_room_schedules_are_refused_and_all_else_is_committed() {
    let store = Arc::new(Fake::default());
    let first = schedule("stored", b"1", false);
    let second = schedule("other", b"1", false);
    let outcomes = with_room(&store, DiskSpace::UNLIMITED, vec![vec![first, second]]);
    assert!(matches!(
        outcomes[..],
        [Outcome::Scheduled { .. }, Outcome::Scheduled { .. }]
    ));
    let before = store.all(Space::Tasks);

    let full = DiskSpace::for_new_tasks(0);
    let jobs = vec![
        schedule("new", b"1", false),
        schedule("stored", b"1", false),
        schedule("stored", b"1", true),
        schedule("stored", b"2", false),
        schedule("stored", b"2", true),
    ];
    let expected = [
        Outcome::DiskFull,
        Outcome::Same { fire_at: 1 },
        Outcome::Same { fire_at: 1 },
        Outcome::NameTaken,
        Outcome::DiskFull,
    ];
    assert_eq!(with_room(&store, full, vec![jobs]), expected);
    assert_eq!(store.all(Space::Tasks), before);

    let jobs = vec![
        cancel("other"),
        schedule("other", b"1", false),
        cancel("none"),
    ];
    let outcomes = with_room(&store, full, vec![jobs]);
    assert!(matches!(
        outcomes[..],
        [
            Outcome::Cancelled(Some(_)),
            Outcome::DiskFull,
            Outcome::Cancelled(None)
        ]
    ));
    assert_eq!(store.all(Space::Tasks), before[..1]);

    let outcomes = with_room(
        &store,
        DiskSpace::UNLIMITED,
        vec![vec![schedule("new", b"1", false)]],
    );
    assert!(matches!(outcomes[..], [Outcome::Scheduled { .. }]));
}

#[test]
fn what_is_finished_is_acknowledged_again_on_a_full_disk() {
    let store = Arc::new(Fake::default());
    let mut ledger = Ledger::open(store.clone(), 60_000, Sizes::SMALL).unwrap();
    let Op::Schedule(order) = schedule("done", b"1", false).op else {
        unreachable!("it is a schedule");
    };
    let Outcome::Scheduled { seq, .. } = ledger.apply(&Op::Schedule(order.clone()), 0).unwrap()
    else {
        unreachable!("it is new");
    };
    let revision = TaskRevision {
        route: "r".into(),
        id: "done".into(),
        seq,
        attempt: 1,
    };
    ledger.apply(&Op::Finish(revision), 0).unwrap();
    assert_eq!(
        ledger.refuse_for_full_disk(&order, 1).unwrap(),
        Outcome::Same { fire_at: 1 }
    );
    assert_eq!(
        ledger.refuse_for_full_disk(&order, 60_001).unwrap(),
        Outcome::DiskFull
    );
}

#[test]
fn a_group_gets_the_tasks_that_the_room_is_for() {
    let store = Arc::new(Fake::default());
    let room = DiskSpace::for_new_tasks(3 * DiskSpace::cost(100, 2));
    let jobs = (0..5).map(job).collect();
    let outcomes = with_room(&store, room, vec![jobs]);
    let is_full = |outcome: &Outcome| *outcome == Outcome::DiskFull;
    assert_eq!(outcomes.iter().position(is_full), Some(3));
    assert!(is_full(&outcomes[4]));
    assert_eq!(store.all(Space::Tasks).len(), 3);
}

#[test]
fn headers_and_terms_of_a_new_task_take_room() {
    let room = DiskSpace::for_new_tasks(DiskSpace::cost(0, 2));
    let admits = |change: fn(&mut ScheduleOrder)| {
        let mut job = schedule("a", b"", false);
        if let Op::Schedule(order) = &mut job.op {
            change(order);
        }
        let outcomes = with_room(&Arc::default(), room, vec![vec![job]]);
        outcomes[..] != [Outcome::DiskFull]
    };
    assert!(admits(|_| ()));
    assert!(!admits(
        |order| order.headers = Headers::of_text(r#"{"a":"b"}"#)
    ));
    assert!(!admits(|order| order.terms = Some(Box::default())));
}

#[test]
fn on_a_disk_with_little_room_each_group_has_a_maximum_size_and_its_own_room() {
    let store = Arc::new(Fake::default());
    store.set_disk_space(DiskSpace::for_new_tasks(64 << 20));
    let (sender, receiver) = mpsc::channel();
    sender
        .send((0..2 * Group::JOBS + 1).map(job).collect())
        .unwrap();
    drop(sender);
    let run = over(&store, Sync::Always, receiver);
    run.result.as_ref().unwrap();
    assert_eq!(sizes(&run), [Group::JOBS, Group::JOBS, 1]);
    assert!(store.calls().disk_space_checks > 3);
}

#[test]
fn on_a_disk_with_little_room_a_group_waits_until_the_one_before_is_written() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Hang);
    store.set_disk_space(DiskSpace::for_new_tasks(DiskSpace::cost(100, 2)));
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        sender.send(vec![job(1)]).unwrap();
        wait_until(|| store.calls().commits == 1);
        sender.send(vec![job(2)]).unwrap();
        thread::sleep(Duration::from_millis(20));
        store.set_disk_space(DiskSpace::for_new_tasks(0));
        store.set_syncs(Syncs::Work);
        drop(sender);
        let reported = running.join().unwrap().reported;
        let outcomes: Vec<Outcome> = reported
            .into_iter()
            .flatten()
            .map(|committed| committed.outcome)
            .collect();
        assert!(matches!(
            outcomes[..],
            [Outcome::Scheduled { .. }, Outcome::DiskFull]
        ));
    });
}

#[test]
fn after_a_refused_task_a_group_takes_no_smaller_one() {
    let store = Arc::new(Fake::default());
    let room = DiskSpace::for_new_tasks(3 * DiskSpace::cost(100, 2));
    let jobs = vec![schedule("large", &[0; 10_000], false), job(1)];
    let outcomes = with_room(&store, room, vec![jobs]);
    assert_eq!(outcomes, [Outcome::DiskFull, Outcome::DiskFull]);
}

#[test]
fn jobs_that_wait_to_be_written_are_reported_after_the_room_becomes_little() {
    let store = Arc::new(Fake::default());
    store.set_syncs(Syncs::Hang);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        sender.send(vec![job(1)]).unwrap();
        wait_until(|| store.calls().commits == 1);
        let measured = store.calls().disk_space_checks;
        sender.send(vec![job(2)]).unwrap();
        wait_until(|| store.calls().disk_space_checks > measured);
        store.set_disk_space(DiskSpace::for_new_tasks(DiskSpace::cost(100, 2)));
        sender.send(vec![job(3)]).unwrap();
        wait_until(|| store.calls().disk_space_checks > measured + 1);
        store.set_syncs(Syncs::Work);
        drop(sender);
        let run = running.join().unwrap();
        run.result.as_ref().unwrap();
        // The third one may arrive before the group of the second one is over.
        let sizes = sizes(&run);
        assert!(sizes == [1, 1, 1] || sizes == [1, 2], "{sizes:?}");
    });
}

#[test]
fn on_a_full_disk_no_space_is_cleared() {
    for (room, is_cleared) in [
        (DiskSpace::for_new_tasks(0), false),
        (DiskSpace::for_new_tasks(1), true),
        (DiskSpace::UNLIMITED, true),
    ] {
        let store = Arc::new(Fake::default());
        store.set_disk_space(room);
        let (sender, receiver) = mpsc::channel();
        sender.send(vec![cancel("1")]).unwrap();
        drop(sender);
        run_with_window(&store, 1, Sync::Always, receiver, |_| ()).unwrap();
        assert_eq!(store.calls().clears > 0, is_cleared, "{room:?}");
    }
}
