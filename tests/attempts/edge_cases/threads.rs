//! Wakes from other threads while the set is polled.

use std::{
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::channel,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use futures::Stream;
use race::Attempts;

use super::ticket::{Ticket, serve};
use crate::{
    gate::{Gate, Gated},
    task::{Parent, poll},
};

/// Longer than any test takes unless a wake is lost.
const NEVER: Duration = Duration::from_secs(60);

/// A task whose thread parks until the task is woken.
struct Parked(Thread, AtomicBool);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.1.store(true, SeqCst);
        self.0.unpark();
    }
}

/// Blocks until a future finishes. With `swap`, each poll is by a new task.
fn wait<F: Future, A>(set: &mut Attempts<F, A>, task: &mut Arc<Parked>, swap: bool) -> Option<A> {
    loop {
        if swap {
            *task = parked();
        }
        task.1.store(false, SeqCst);
        let waker = Waker::from(task.clone());
        match Pin::new(&mut *set).poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(finished) => return finished.map(|(arg, _)| arg),
            Poll::Pending => {
                while !task.1.load(SeqCst) {
                    let now = Instant::now();
                    thread::park_timeout(NEVER);
                    assert!(
                        now.elapsed() < NEVER,
                        "a wake was lost, with {} left",
                        set.len()
                    );
                }
            }
        }
    }
}

fn parked() -> Arc<Parked> {
    Arc::new(Parked(thread::current(), AtomicBool::new(false)))
}

/// Runs `total` futures, at most `live` at a time, that are woken by three other threads.
fn stress(total: usize, live: usize, swap: bool) {
    thread::scope(|scope| {
        let desks: Vec<_> = (0..3)
            .map(|_| {
                let (desk, requests) = channel();
                scope.spawn(move || serve(&requests));
                desk
            })
            .collect();
        let ticket = |index: usize| {
            let desk = &desks[index % desks.len()];
            Ticket::new(1 + index % 4, desk.clone())
        };
        let mut set = Attempts::new();
        let mut indices = 0..total;
        let mut task = parked();
        let mut seen = vec![false; total];
        for index in indices.by_ref().take(live) {
            set.push_with(index, ticket(index));
        }
        while let Some(index) = wait(&mut set, &mut task, swap) {
            assert!(
                !mem::replace(&mut seen[index], true),
                "#{index} finished twice"
            );
            indices
                .next()
                .into_iter()
                .for_each(|next| set.push_with(next, ticket(next)));
        }
        assert!(seen.into_iter().all(|it| it));
    });
}

#[test]
fn wakes_from_other_threads_are_not_lost() {
    for live in [1, 2, 8, 64, 65, 300] {
        stress(4_000, live, false);
    }
}

#[test]
fn wakes_from_other_threads_are_not_lost_while_the_task_changes() {
    for live in [2, 64, 65, 300] {
        stress(3_000, live, true);
    }
}

#[test]
fn set_may_be_dropped_while_other_threads_wake() {
    for size in [2, 64, 65, 200] {
        for _ in 0..50 {
            let (mut set, gates) = Gate::set(size);
            let parent = Parent::new();
            assert!(poll(&mut set, &parent).is_pending());
            thread::scope(|scope| {
                for part in 0..3 {
                    let gates = &gates;
                    scope.spawn(move || gates.iter().skip(part).for_each(Gate::wake));
                }
                let _ = poll(&mut set, &parent);
                drop(set);
            });
            assert!(gates.iter().all(|gate| gate.drops() == 1));
            assert_eq!(Arc::strong_count(&parent), 1);
        }
    }
}

#[test]
fn set_may_move_between_threads_between_polls() {
    fn is_send<T: Send>(_: &T) {}
    for size in [1, 2, 64, 65, 200] {
        let (mut set, gates) = Gate::set(size);
        is_send(&set);
        let order: Vec<usize> = (0..size).step_by(size.div_ceil(10)).collect();
        for index in &order {
            let gate = gates[*index].clone();
            let went: (Attempts<Gated, usize>, Option<usize>) = thread::spawn(move || {
                let mut task = parked();
                let waker = Waker::from(task.clone());
                let mut cx = Context::from_waker(&waker);
                assert!(Pin::new(&mut set).poll_next(&mut cx).is_pending());
                let opener = thread::spawn(move || gate.open());
                let next = wait(&mut set, &mut task, false);
                opener.join().unwrap();
                (set, next)
            })
            .join()
            .unwrap();
            set = went.0;
            assert_eq!(went.1, Some(*index));
        }
        assert_eq!(set.len(), size - order.len());
    }
}
