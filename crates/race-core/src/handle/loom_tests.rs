//! All interleavings of attempts that commit on different threads.

use loom::thread;

use super::{
    Handles,
    signals::{Shared, Signals},
};
use crate::sync::Arc;

fn two(shared: &Arc<Shared>) -> [Arc<Signals>; 2] {
    [0, 1].map(|index| Arc::new(Signals::new(index, None, shared.clone())))
}

#[test]
fn one_of_two_attempts_commits() {
    loom::model(|| {
        let shared = Arc::new(Shared::new());
        let [one, two] = two(&shared);
        let thread = thread::spawn(move || one.commit());
        let two = two.commit();
        let one = thread.join().unwrap();
        assert_ne!(one, two);
        assert!(shared.is_decided());
        assert!(shared.take_changed());
    });
}

#[test]
fn race_that_accepts_an_attempt_takes_the_slot_that_its_task_commits_at_once() {
    loom::model(|| {
        let shared = Arc::new(Shared::new());
        shared.add_free(1);
        let [one, _] = two(&shared);
        let task = one.clone();
        let thread = thread::spawn(move || task.commit());
        assert!(one.claim());
        assert!(thread.join().unwrap());
        assert!(!shared.is_decided(), "it took one slot of two");
    });
}

#[test]
fn attempt_that_ended_takes_no_slot_later() {
    loom::model(|| {
        let shared = Arc::new(Shared::new());
        let [one, _] = two(&shared);
        let task = one.clone();
        let thread = thread::spawn(move || task.commit());
        let had_committed = one.close();
        assert_eq!(thread.join().unwrap(), had_committed);
        assert_eq!(shared.is_decided(), had_committed);
    });
}

#[test]
fn race_hears_of_every_commit() {
    loom::model(|| {
        let mut handles = Handles::new();
        handles.begin(0, None);
        let mut handle = handles.handle();
        let thread = thread::spawn(move || assert!(handle.try_commit()));
        let early = handles.take_changed().then(|| handles.take_committed());
        thread.join().unwrap();
        let late = handles.take_changed().then(|| handles.take_committed());
        let heard = [early, late].into_iter().flatten().flatten();
        assert_eq!(heard.collect::<alloc::vec::Vec<_>>(), [0]);
    });
}
