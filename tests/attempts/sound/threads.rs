//! Wakers on other threads, while the set is polled.

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
use crate::probe::{Gate, Gated, Parent, poll};

/// Longer than any test takes unless a wake was lost.
const NEVER: Duration = Duration::from_secs(60);

/// A thread that sleeps until it is woken.
struct Parked(Thread, AtomicBool);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.1.store(true, SeqCst);
        self.0.unpark();
    }
}

/// The next output, on this thread; a new task now and then.
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

/// So many futures in all, so many of them at a time.
fn stress(total: usize, live: usize, swap: bool) {
    thread::scope(|scope| {
        let desks: Vec<_> = (0..3)
            .map(|_| {
                let (desk, requests) = channel();
                scope.spawn(move || serve(&requests));
                desk
            })
            .collect();
        let ticket = |place: usize| {
            let desk = &desks[place % desks.len()];
            Ticket::new(1 + place % 4, desk.clone())
        };
        let mut set = Attempts::new();
        let mut places = 0..total;
        let mut task = parked();
        let mut seen = vec![false; total];
        for place in places.by_ref().take(live) {
            set.push(place, ticket(place));
        }
        while let Some(place) = wait(&mut set, &mut task, swap) {
            assert!(!mem::replace(&mut seen[place], true), "#{place} came twice");
            places
                .next()
                .into_iter()
                .for_each(|next| set.push(next, ticket(next)));
        }
        assert!(seen.into_iter().all(|it| it));
    });
}

#[test]
fn no_wake_from_another_thread_is_lost() {
    for live in [1, 2, 8, 61, 62, 300] {
        stress(4_000, live, false);
    }
}

#[test]
fn no_wake_from_another_thread_is_lost_while_the_task_changes() {
    for live in [2, 61, 62, 300] {
        stress(3_000, live, true);
    }
}

#[test]
fn a_set_may_be_dropped_while_other_threads_wake() {
    for size in [2, 61, 62, 200] {
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
fn a_set_may_go_from_thread_to_thread_between_its_polls() {
    fn is_send<T: Send>(_: &T) {}
    for size in [1, 2, 61, 62, 200] {
        let (mut set, gates) = Gate::set(size);
        is_send(&set);
        let order: Vec<usize> = (0..size).step_by(size.div_ceil(10)).collect();
        for place in &order {
            let gate = gates[*place].clone();
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
            assert_eq!(went.1, Some(*place));
        }
        assert_eq!(set.len(), size - order.len());
    }
}
