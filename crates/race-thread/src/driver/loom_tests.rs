//! Every interleaving of timers and the driver's thread, under loom, on the real code. A lost wake
//! leaves the thread asleep, which loom reports as a deadlock. Times are microseconds.

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
    /// Runs the rounds of the thread until `done`.
    fn attend(&self, done: impl Fn() -> bool) {
        let mut due = Vec::new();
        let mut state = self.lock_again();
        while !done() {
            state = self.go_round(state, &mut due);
        }
    }

    fn advance(&self, micros: u64) {
        self.earlier.advance(&self.lock_again(), moment(micros));
    }
}

fn moment(micros: u64) -> Moment {
    Moment::from_nanos(1_000 * micros)
}

/// Counts its wakes.
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

    /// Polls a timer. Returns whether it is ready.
    fn poll(&self, timer: &mut ThreadTimer, micros: u64) -> bool {
        let waker = Waker::from(Arc::clone(&self.0));
        let mut cx = Context::from_waker(&waker);
        Pin::new(timer)
            .poll_until(moment(micros), &mut cx)
            .is_ready()
    }

    /// Returns a timer that is armed.
    fn arm(&self, micros: u64) -> ThreadTimer {
        let mut timer = ThreadTimer::new();
        assert!(!self.poll(&mut timer, micros));
        timer
    }

    /// Starts a thread that runs the driver until this probe is woken.
    fn attend(&self) -> thread::JoinHandle<()> {
        let probe = self.clone();
        thread::spawn(move || DRIVER.attend(|| probe.count() > 0))
    }
}

#[test]
fn thread_wakes_at_first_deadline() {
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
fn thread_wakes_at_earlier_deadline() {
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
fn earlier_of_two_timers_is_woken_first() {
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
fn both_timers_are_woken_while_time_advances() {
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
fn dropped_timer_is_not_woken_and_the_other_is() {
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
fn deadline_can_move_earlier_or_later() {
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
fn new_waker_is_woken_while_the_old_one_is_being_woken() {
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

#[test]
fn blocked_callers_and_the_thread_all_proceed() {
    loom::model(|| {
        let [first, second] = [(); 2].map(|()| Probe::new());
        let thread = first.attend();
        let other = second.clone();
        let registers = thread::spawn(move || drop(other.arm(30)));
        let _first = first.arm(10);
        DRIVER.advance(10);
        registers.join().unwrap();
        thread.join().unwrap();
        assert_eq!([first.count(), second.count()], [1, 0]);
    });
}
