//! What the committer does when the disk has no room even for changes of stored tasks.

use std::sync::Mutex;

use super::*;

#[test]
fn on_an_exhausted_disk_schedules_are_refused_at_once_and_changes_wait() {
    let store = Arc::new(Fake::default());
    with_room(
        &store,
        DiskSpace::UNLIMITED,
        vec![vec![schedule("stored", b"1", false)]],
    );
    store.set_disk_space(DiskSpace::none());
    let (sender, receiver) = mpsc::channel();
    let reported = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let (disk, all) = (&store, &reported);
        let running = scope.spawn(move || {
            run(disk, Sync::Always, receiver, |group| {
                let outcomes = group.into_iter().map(|committed| committed.outcome.clone());
                all.lock().unwrap().extend(outcomes);
            })
        });
        let reported = || reported.lock().unwrap().clone();
        let commits = store.calls().commits;
        sender.send(vec![schedule("new", b"1", false)]).unwrap();
        wait_until(|| reported() == [Outcome::DiskFull]);
        // The outcome of a repeated schedule depends on the cancel, which waits.
        let jobs = vec![cancel("stored"), schedule("stored", b"1", false)];
        sender.send(jobs).unwrap();
        wait_until(|| reported() == [Outcome::DiskFull, Outcome::DiskFull]);
        assert_eq!(store.calls().commits, commits);
        store.set_disk_space(DiskSpace::for_new_tasks(0));
        wait_until(|| matches!(reported()[..], [_, _, Outcome::Cancelled(Some(_))]));
        drop(sender);
        running.join().unwrap().unwrap();
    });
}

#[test]
fn changes_that_wait_for_room_are_applied_in_order() {
    let store = Arc::new(Fake::default());
    with_room(&store, DiskSpace::UNLIMITED, vec![vec![job(1)]]);
    store.set_disk_space(DiskSpace::none());
    let (sender, receiver) = mpsc::channel();
    for id in ["1", "none"] {
        sender.send(vec![cancel(id)]).unwrap();
    }
    let measured = store.calls().disk_space_checks;
    thread::scope(|scope| {
        let disk = &store;
        let running = scope.spawn(move || over(disk, Sync::Always, receiver));
        // At the start, for the first group and when that must be exact, and as each arrives.
        wait_until(|| store.calls().disk_space_checks >= measured + 5);
        store.set_disk_space(DiskSpace::for_new_tasks(0));
        wait_until(|| store.all(Space::Names).is_empty());
        drop(sender);
        let reported = running.join().unwrap().reported.into_iter().flatten();
        let outcomes: Vec<Outcome> = reported.map(|committed| committed.outcome).collect();
        assert!(
            matches!(
                outcomes[..],
                [Outcome::Cancelled(Some(_)), Outcome::Cancelled(None)]
            ),
            "{outcomes:?}"
        );
    });
}

#[test]
fn an_end_on_an_exhausted_disk_is_an_error_that_counts_what_waits() {
    for end in [Some(Vec::new()), None] {
        let store = Arc::new(Fake::default());
        store.set_disk_space(DiskSpace::none());
        let (sender, receiver) = mpsc::channel();
        sender.send(vec![cancel("1"), cancel("2")]).unwrap();
        if let Some(end) = end {
            sender.send(end).unwrap();
        }
        drop(sender);
        let run = over(&store, Sync::Always, receiver);
        let error = run.result.unwrap_err().to_string();
        assert!(
            error.contains("unwritten acks, retries and cancels: 2;"),
            "{error}"
        );
        assert!(run.reported.is_empty());
    }
}

/// A server on a file system that reports no free bytes has only marks to write, if it takes no task.
#[test]
fn marks_do_not_wait_on_an_exhausted_disk() {
    let mark = || CommitJob {
        op: Op::AdvanceLowWater(7),
        ..cancel("1")
    };
    for jobs in [vec![mark()], vec![mark(), schedule("new", b"1", false)]] {
        let store = Arc::new(Fake::default());
        store.set_disk_space(DiskSpace::none());
        let (sender, receiver) = mpsc::channel();
        let number = jobs.len();
        sender.send(jobs).unwrap();
        sender.send(vec![mark()]).unwrap();
        sender.send(Vec::new()).unwrap();
        drop(sender);
        let run = over(&store, Sync::Always, receiver);
        assert!(run.result.is_ok(), "{:?}", run.result);
        assert_eq!(run.reported.into_iter().flatten().count(), number + 1);
        assert_eq!(store.calls().commits, 0);
    }
}

#[test]
fn what_is_stored_is_acknowledged_again_on_an_exhausted_disk() {
    let store = Arc::new(Fake::default());
    let stored = || vec![vec![schedule("stored", b"1", false)]];
    with_room(&store, DiskSpace::UNLIMITED, stored());
    assert_eq!(
        with_room(&store, DiskSpace::none(), stored()),
        [Outcome::Same { fire_at: 1 }]
    );
}

#[test]
fn changes_that_arrive_with_refused_schedules_wait_on_an_exhausted_disk() {
    let store = Arc::new(Fake::default());
    store.set_disk_space(DiskSpace::none());
    let (sender, receiver) = mpsc::channel();
    sender.send(vec![job(1)]).unwrap();
    sender.send(vec![cancel("none")]).unwrap();
    drop(sender);
    let run = over(&store, Sync::Always, receiver);
    let error = run.result.unwrap_err().to_string();
    assert!(error.contains("retries and cancels: 1;"), "{error}");
    let outcomes = run
        .reported
        .iter()
        .flatten()
        .map(|committed| committed.outcome.clone());
    assert!(outcomes.eq([Outcome::DiskFull]));
}

#[test]
fn a_producer_that_retries_gets_every_reply_when_there_is_room_again() {
    for _ in 0..20 {
        let store = Arc::new(Fake::default());
        store.set_disk_space(DiskSpace::none());
        let (sender, receiver) = mpsc::channel();
        let reported = Mutex::new(0);
        thread::scope(|scope| {
            let (disk, reported) = (&store, &reported);
            let running = scope.spawn(move || {
                run(disk, Sync::Always, receiver, |group| {
                    *reported.lock().unwrap() += group.len();
                })
            });
            sender.send(vec![cancel("none")]).unwrap();
            let mut sent = 1;
            for id in 0..60 {
                if id == 30 {
                    store.set_disk_space(DiskSpace::for_new_tasks(0));
                }
                sender.send(vec![job(id)]).unwrap();
                sent += 1;
                thread::sleep(Duration::from_micros(300));
            }
            wait_until(|| *reported.lock().unwrap() == sent);
            drop(sender);
            running.join().unwrap().unwrap();
        });
    }
}
