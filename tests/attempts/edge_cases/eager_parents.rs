//! Tasks that poll or drop their set inside their waker.

use std::{
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use futures::Stream;
use race::Attempts;

use crate::gate::{Gate, Gated};

/// A task that polls its set when it is woken. A wake during a poll causes another poll after it.
struct Inline {
    set: Mutex<Attempts<Wakeful, usize>>,
    is_woken: AtomicBool,
    polls: AtomicUsize,
    out: Mutex<Vec<usize>>,
}

/// A future of a gate that wakes itself in this many polls.
struct Wakeful {
    future: Gated,
    wakes: usize,
}

impl Future for Wakeful {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(rest) = self.wakes.checked_sub(1) {
            self.wakes = rest;
            cx.waker().wake_by_ref();
        }
        Pin::new(&mut self.future).poll(cx)
    }
}

impl Inline {
    fn new(gates: &[Gate], wakes: usize) -> Arc<Self> {
        let mut set = Attempts::new();
        for (index, gate) in gates.iter().enumerate() {
            let future = gate.future();
            set.push_with(index, Wakeful { future, wakes });
        }
        Arc::new(Self {
            set: Mutex::new(set),
            is_woken: AtomicBool::new(false),
            polls: AtomicUsize::new(0),
            out: Mutex::default(),
        })
    }

    /// Drops the set, which holds the task's waker. Returns the arguments that finished.
    fn finish(&self) -> Vec<usize> {
        drop(mem::take(&mut *self.set.lock().unwrap()));
        mem::take(&mut self.out.lock().unwrap())
    }
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        while self.is_woken.load(SeqCst) {
            let Ok(mut set) = self.set.try_lock() else {
                return; // the thread that polls it will loop
            };
            self.is_woken.store(false, SeqCst);
            self.polls.fetch_add(1, SeqCst);
            let waker = Waker::from(self.clone());
            let mut cx = Context::from_waker(&waker);
            while let Poll::Ready(Some((index, ()))) = Pin::new(&mut *set).poll_next(&mut cx) {
                self.out.lock().unwrap().push(index);
            }
        }
    }
}

fn gates(count: usize) -> Vec<Gate> {
    (0..count).map(|_| Gate::default()).collect()
}

#[test]
fn task_that_polls_in_its_waker_neither_hangs_nor_recurses_nor_loses_a_wake() {
    for size in [1, 2, 64, 65, 200] {
        let gates = gates(size);
        let task = Inline::new(&gates, 0);
        task.clone().wake();
        for (index, gate) in gates.iter().enumerate() {
            gate.open();
            assert_eq!(task.out.lock().unwrap().last(), Some(&index));
            gate.wake();
        }
        let polls = task.polls.load(SeqCst);
        assert!(polls <= 1 + 2 * size, "{polls} polls for {size}");
        assert!(task.finish().into_iter().eq(0..size));
    }
}

#[test]
fn task_that_polls_in_its_waker_polls_once_per_round_of_self_wakes() {
    for size in [1, 2, 64, 65, 200] {
        let gates = gates(size);
        let task = Inline::new(&gates, 10);
        task.clone().wake();
        let all_woken = gates.iter().all(|gate| gate.polls() >= 11);
        assert!(all_woken && task.polls.load(SeqCst) <= 12);
        gates.iter().for_each(Gate::open);
        assert_eq!(task.finish().len(), size);
    }
}

#[test]
fn task_that_polls_in_its_waker_on_any_thread_loses_no_wake() {
    for size in [60, 400] {
        for _ in 0..20 {
            let gates = gates(size);
            let task = Inline::new(&gates, 1);
            task.clone().wake();
            thread::scope(|scope| {
                for part in gates.chunks(size / 4) {
                    scope.spawn(|| part.iter().for_each(Gate::open));
                }
            });
            let mut out = task.finish();
            out.sort_unstable();
            assert!(out.into_iter().eq(0..size));
        }
    }
}

#[test]
fn task_may_drop_its_set_in_its_waker() {
    struct Drops(Mutex<Option<Attempts<Gated, usize>>>);
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
        }
    }
    for size in [2, 64, 65, 200] {
        let (mut set, gates) = Gate::set(size);
        let task = Arc::new(Drops(Mutex::default()));
        let waker = Waker::from(task.clone());
        let polled = Pin::new(&mut set).poll_next(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        *task.0.lock().unwrap() = Some(set);
        gates[size - 1].take_waker().wake(); // may be the last reference to its group
        assert!(gates.iter().all(|gate| gate.drops() == 1));
        gates.iter().take(size - 1).for_each(Gate::wake);
        drop(waker);
        drop(gates);
        assert_eq!(Arc::strong_count(&task), 1);
    }
}
