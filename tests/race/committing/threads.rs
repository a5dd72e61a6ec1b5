use std::{sync::mpsc, thread, time::Duration};

use futures::{channel::oneshot, executor::block_on};
use race::{AttemptHandle, Race};

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn commit_on_another_thread_wakes_the_race() {
    let (send, dropped) = oneshot::channel::<()>();
    let mut sender = Some(send);
    let (to_thread, handles) = mpsc::channel();
    let (finish, mut finished) = (vec![], vec![]);
    let (mut finish, mut ends): (Vec<oneshot::Sender<()>>, Vec<_>) = (finish, vec![]);
    for _ in 0..2 {
        let (send, receive) = oneshot::channel::<()>();
        finish.push(send);
        ends.push(receive);
    }
    finished.append(&mut ends);
    let mut finished = finished.into_iter();
    let run = |_: &usize, handle: AttemptHandle| {
        let loses = (handle.index() == 0).then(|| sender.take()).flatten();
        to_thread.send(handle).unwrap();
        let end = finished.next().unwrap();
        async move {
            let _loses = loses; // dropped with the attempt
            end.await.unwrap();
            Ok::<_, &str>(())
        }
    };
    let committer = thread::spawn(move || {
        let (_lost, mut won) = (handles.recv().unwrap(), handles.recv().unwrap());
        assert!(won.try_commit());
        // The race drops the loser before anything else happens.
        assert!(block_on(dropped).is_err());
        finish.remove(1).send(()).unwrap();
    });
    let race = Race::committing(Duration::ZERO, run, 0..2).deadline(LONG);
    assert_eq!(block_on(race.first_ok()).unwrap().index, 1);
    committer.join().unwrap();
}

#[test]
fn release_on_another_thread_wakes_the_race() {
    let (to_thread, holds) = mpsc::channel();
    let run = |_: &usize, handle: AttemptHandle| {
        let index = handle.index();
        if index == 0 {
            to_thread.send(handle.hold()).unwrap();
        }
        async move {
            if index == 0 {
                std::future::pending::<()>().await;
            }
            Ok::<_, &str>(index)
        }
    };
    let releaser = thread::spawn(move || {
        let hold = holds.recv().unwrap();
        thread::sleep(Duration::from_millis(50));
        drop(hold);
    });
    let race = Race::committing(Duration::from_millis(1), run, 0..2);
    let won = block_on(race.first_ok()).unwrap();
    assert_eq!(won.index, 1);
    assert!(
        won.elapsed >= Duration::from_millis(40),
        "{:?}",
        won.elapsed
    );
    releaser.join().unwrap();
}
