//! Wakers that panic, use timers, or change; and deadlines that move.

use std::{
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Wake, Waker},
    thread::{self},
};

use race_core::{Moment, Timer};
use race_thread::sleep;

use crate::probe::*;

/// Panics when woken, with a payload that panics when dropped. Neither prints a message.
struct Panics(AtomicUsize);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                resume_unwind(Box::new(()));
            }
        }
        self.0.fetch_add(1, SeqCst);
        resume_unwind(Box::new(Again));
    }
}

#[test]
fn a_waker_that_panics_affects_no_other_timer() {
    in_time(|deadline| {
        let panics = Arc::new(Panics(AtomicUsize::new(0)));
        let probes = [(); 3].map(|()| Probe::new());
        let timers: Vec<_> = probes
            .iter()
            .flat_map(|probe| [waker(probe), waker(&panics)])
            .map(|waker| arm(deadline, &waker))
            .collect();
        Box::new(move || {
            for probe in &probes {
                probe.wait(1);
            }
            pass(deadline);
            assert_eq!(panics.0.load(SeqCst), 3);
            drop(timers);
        })
    });
}

/// Arms and drops timers when woken and when dropped.
struct Busy(Arc<Probe>);

impl Busy {
    fn work(&self) {
        let probe = waker(&self.0);
        let mut timer = arm(now() + HOUR, &probe);
        let _ = poll(&mut timer, now() + HOUR / 2, Waker::noop());
        drop(arm(now() + HOUR, &probe));
        drop(timer);
    }
}

impl Wake for Busy {
    fn wake(self: Arc<Self>) {
        self.work();
        waker(&self.0).wake();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.work();
        waker(&self.0).wake();
    }
}

#[test]
fn wakers_are_woken_and_dropped_outside_the_lock() {
    let probe = Probe::new();
    let (done, is_done) = mpsc::channel();
    let own = Arc::clone(&probe);
    thread::spawn(move || {
        let busy = || Waker::from(Arc::new(Busy(Arc::clone(&own))));
        // Woken and dropped by the thread.
        let woken = arm(now() + ms(5), &busy());
        own.wait(1);
        // Dropped with the timer, and replaced by another waker.
        drop(arm(now() + HOUR, &busy()));
        let deadline = now() + HOUR;
        let mut timer = arm(deadline, &busy());
        assert!(poll(&mut timer, deadline, &busy()).is_pending());
        assert!(poll(&mut timer, deadline, Waker::noop()).is_pending());
        Pin::new(&mut timer).disarm();
        drop(woken);
        done.send(()).unwrap();
    });
    is_done.recv_timeout(WATCHDOG).expect("deadlock");
    probe.wait(5);
}

#[test]
fn only_the_latest_waker_is_kept_and_woken() {
    in_time(|deadline| {
        let [old, new] = [(); 2].map(|()| Probe::new());
        let mut timer = arm(deadline, &waker(&old));
        let _ = poll(&mut timer, deadline, &waker(&new));
        Box::new(move || {
            assert_eq!(Arc::strong_count(&old), 1, "the old waker is dropped");
            new.wait(1);
            assert_eq!((old.wakes(), new.wakes()), (0, 1));
            drop(timer);
        })
    });
}

#[test]
fn a_future_can_move_to_another_task() {
    let old = Probe::new();
    let mut slept = Box::pin(sleep(ms(10)));
    let _ = slept.as_mut().poll(&mut Context::from_waker(&waker(&old)));
    let moved = thread::spawn(move || by_hand(slept));
    let ((), polls) = moved.join().unwrap();
    assert!(polls <= 2, "{polls} polls");
}

#[test]
fn a_deadline_that_moves_earlier_wakes_at_the_new_time() {
    let probe = Probe::new();
    let mut timer = arm(now() + HOUR, &waker(&probe));
    let deadline = now() + ms(5);
    if poll(&mut timer, deadline, &waker(&probe)).is_pending() {
        probe.wait(1);
    }
    assert!(now() >= deadline);
    assert!(poll(&mut timer, deadline, Waker::noop()).is_ready());
}

#[test]
fn a_deadline_that_moves_later_wakes_only_at_the_new_time() {
    in_time(|deadline| {
        let probe = Probe::new();
        let mut timer = arm(deadline, &waker(&probe));
        let later = deadline + ms(20);
        let _ = poll(&mut timer, later, &waker(&probe));
        Box::new(move || {
            probe.wait(1);
            assert!(now() >= later);
            assert_eq!(probe.wakes(), 1);
            assert!(poll(&mut timer, later, Waker::noop()).is_ready());
        })
    });
}

#[test]
fn a_deadline_that_moves_to_never_does_not_wake() {
    in_time(|deadline| {
        let probe = Probe::new();
        let mut timer = arm(deadline, &waker(&probe));
        assert!(poll(&mut timer, Moment::NEVER, &waker(&probe)).is_pending());
        Box::new(move || {
            pass(deadline);
            assert_eq!((probe.wakes(), Arc::strong_count(&probe)), (0, 1));
            drop(timer);
        })
    });
}
