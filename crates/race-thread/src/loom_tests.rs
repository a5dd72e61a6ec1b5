//! Every interleaving of timers and the thread that wakes, by loom, on the real code. A wake that is lost
//! leaves the thread asleep for good, which loom calls a deadlock. Times are microseconds.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Release},
    },
    task::{Context, Wake, Waker},
};

use loom::{sync::atomic::AtomicUsize, thread};
use race_core::{Moment, Timer as _};

use super::{DRIVER, Driver};
use crate::ThreadTimer;

impl Driver {
    /// What the thread does, until it is done.
    fn attend(&self, done: impl Fn() -> bool) {
        let mut due = Vec::new();
        let mut state = self.lock();
        while !done() {
            state = self.go_round(state, &mut due);
        }
    }

    fn advance(&self, micros: u64) {
        self.earlier.advance(&self.lock(), moment(micros));
    }
}

fn moment(micros: u64) -> Moment {
    Moment::from_nanos(1_000 * micros)
}

/// Counts how often it was woken.
#[derive(Clone)]
struct Probe(Arc<Count>);

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Release);
    }
}

impl Probe {
    fn new() -> Self {
        Self(Arc::new(Count(AtomicUsize::new(0))))
    }

    fn count(&self) -> usize {
        self.0.0.load(Acquire)
    }

    /// Polls until a moment; whether it has come.
    fn poll(&self, timer: &mut ThreadTimer, micros: u64) -> bool {
        let waker = Waker::from(Arc::clone(&self.0));
        let mut cx = Context::from_waker(&waker);
        Pin::new(timer)
            .poll_until(moment(micros), &mut cx)
            .is_ready()
    }

    /// A timer that is armed.
    fn arm(&self, micros: u64) -> ThreadTimer {
        let mut timer = ThreadTimer::new();
        assert!(!self.poll(&mut timer, micros));
        timer
    }

    /// A thread that wakes others until this one is.
    fn attend(&self) -> thread::JoinHandle<()> {
        let probe = self.clone();
        thread::spawn(move || DRIVER.attend(|| probe.count() > 0))
    }
}

#[test]
fn the_thread_does_not_sleep_through_the_first_deadline() {
    loom::model(|| {
        let probe = Probe::new();
        let thread = probe.attend();
        let _timer = probe.arm(10);
        DRIVER.advance(10);
        thread.join().unwrap();
        assert_eq!(probe.count(), 1);
    });
}

#[test]
fn the_thread_does_not_sleep_through_an_earlier_deadline() {
    loom::model(|| {
        let [earlier, later] = [(); 2].map(|()| Probe::new());
        let _later = later.arm(20);
        let thread = earlier.attend();
        let _earlier = earlier.arm(10);
        DRIVER.advance(10);
        thread.join().unwrap();
        assert_eq!([earlier.count(), later.count()], [1, 0]);
    });
}

#[test]
fn whoever_of_two_is_earlier_is_woken_first() {
    loom::model(|| {
        let [earlier, later] = [(); 2].map(|()| Probe::new());
        let thread = earlier.attend();
        let other = later.clone();
        let registers = thread::spawn(move || other.arm(20));
        let _earlier = earlier.arm(10);
        let _later = registers.join().unwrap();
        DRIVER.advance(10);
        thread.join().unwrap();
        assert_eq!([earlier.count(), later.count()], [1, 0]);
    });
}

#[test]
fn both_are_woken_though_time_goes_on_meanwhile() {
    loom::model(|| {
        let [earlier, later] = [(); 2].map(|()| Probe::new());
        let thread = later.attend();
        let other = later.clone();
        let registers = thread::spawn(move || other.arm(20));
        let _earlier = earlier.arm(10);
        DRIVER.advance(15);
        let _later = registers.join().unwrap();
        DRIVER.advance(20);
        thread.join().unwrap();
        assert_eq!([earlier.count(), later.count()], [1, 1]);
    });
}

#[test]
fn one_that_is_dropped_wakes_nobody_and_hides_no_other() {
    loom::model(|| {
        let [dropped, kept] = [(); 2].map(|()| Probe::new());
        let timer = dropped.arm(10);
        let thread = kept.attend();
        let drops = thread::spawn(move || drop(timer));
        let _kept = kept.arm(20);
        drops.join().unwrap();
        DRIVER.advance(20);
        thread.join().unwrap();
        assert_eq!([dropped.count(), kept.count()], [0, 1]);
    });
}

#[test]
fn a_deadline_may_move_either_way() {
    for (before, after) in [(20, 10), (10, 20)] {
        loom::model(move || {
            let probe = Probe::new();
            let mut timer = probe.arm(before);
            let thread = probe.attend();
            assert!(!probe.poll(&mut timer, after));
            DRIVER.advance(after);
            thread.join().unwrap();
            assert_eq!(probe.count(), 1);
        });
    }
}

#[test]
fn a_new_waker_is_woken_though_the_old_one_is_being_woken() {
    loom::model(|| {
        let [old, new, last] = [(); 3].map(|()| Probe::new());
        let mut timer = old.arm(10);
        let thread = last.attend();
        let polled = new.clone();
        let polls = thread::spawn(move || {
            let ready = polled.poll(&mut timer, 10);
            (timer, ready)
        });
        DRIVER.advance(10);
        let (_timer, ready) = polls.join().unwrap();
        let _last = last.arm(20);
        DRIVER.advance(20);
        thread.join().unwrap();
        assert!(ready || new.count() == 1);
        assert!(old.count() + new.count() <= 2);
    });
}
