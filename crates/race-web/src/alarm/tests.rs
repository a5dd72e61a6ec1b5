//! Every call of `setTimeout`, on a simulated global scope.

use alloc::sync::Arc;
use core::{
    cell::RefCell,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::{Context, Poll},
};
use std::{
    format,
    task::{Wake, Waker},
    thread_local, vec,
};

use race_core::{Moment, Timer as _};

use crate::{
    WebTimer,
    global::{call_back, set_clock, take_delays, timeouts},
};

#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Task {
    fn woken(&self) -> usize {
        self.0.swap(0, Relaxed)
    }
}

fn ms(millis: f64) -> Moment {
    Moment::from_nanos((millis * 1e6) as u64)
}

fn poll(timer: &mut WebTimer, task: &Arc<Task>, deadline: Moment) -> Poll<()> {
    let waker = Waker::from(task.clone());
    Pin::new(timer).poll_until(deadline, &mut Context::from_waker(&waker))
}

#[test]
fn delay_is_rounded_up_to_a_millisecond() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    for (nanos, delay) in [
        (1, 1),
        (900_000, 1),
        (1_000_000, 1),
        (1_000_001, 2),
        (49_200_000, 50),
        (50_000_000, 50),
    ] {
        assert!(poll(&mut timer, &task, Moment::from_nanos(nanos)).is_pending());
        assert_eq!(take_delays(), [delay], "{nanos} ns");
        Pin::new(&mut timer).disarm();
    }
    assert_eq!((timeouts(), task.woken()), (0, 0));
}

#[test]
fn callback_at_the_deadline_wakes_once() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    set_clock(7.25);
    assert!(poll(&mut timer, &task, ms(57.25)).is_pending());
    assert_eq!(take_delays(), [50]);
    call_back(57.25);
    assert_eq!(task.woken(), 1);
    assert!(poll(&mut timer, &task, ms(57.25)).is_ready());
    assert!(poll(&mut timer, &task, ms(57.25)).is_ready());
    assert_eq!((timeouts(), take_delays()), (0, vec![]));
}

#[test]
fn early_callback_sets_the_timeout_again_and_wakes_nothing() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    call_back(49.3);
    call_back(49.3); // the clock is coarse
    assert_eq!((task.woken(), take_delays()), (0, vec![50, 1, 1]));
    call_back(50.3);
    assert_eq!((task.woken(), timeouts()), (1, 0));
}

#[test]
fn delay_beyond_the_longest_is_waited_for_in_parts() {
    const LONGEST: f64 = 2_147_483_647.0;
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    let deadline = ms(2.5 * LONGEST + 0.25);
    assert!(poll(&mut timer, &task, deadline).is_pending());
    assert!(poll(&mut timer, &task, deadline).is_pending());
    call_back(LONGEST);
    call_back(2.0 * LONGEST);
    let rest = (0.5 * LONGEST + 0.25).ceil() as i32;
    assert_eq!(take_delays(), [i32::MAX, i32::MAX, rest]);
    assert_eq!(task.woken(), 0);
    call_back(2.5 * LONGEST + 1.0);
    assert_eq!(task.woken(), 1);
    assert!(poll(&mut timer, &task, deadline).is_ready());
}

#[test]
fn longest_delay_is_one_part() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    for (left, first) in [
        (2_147_483_646.0, i32::MAX - 1),
        (2_147_483_646.5, i32::MAX),
        (2_147_483_647.0, i32::MAX),
        (2_147_483_648.0, i32::MAX),
    ] {
        assert!(poll(&mut timer, &task, ms(left)).is_pending());
        assert_eq!(take_delays(), [first]);
        Pin::new(&mut timer).disarm();
    }
    let last = Moment::from_nanos(u64::MAX - 1);
    assert!(poll(&mut timer, &task, last).is_pending());
    assert_eq!(take_delays(), [i32::MAX]);
}

#[test]
fn later_deadline_keeps_the_timeout() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    for deadline in [50.0, 60.0, 80.0] {
        assert!(poll(&mut timer, &task, ms(deadline)).is_pending());
    }
    assert_eq!(take_delays(), [50]);
    call_back(50.0);
    assert_eq!((task.woken(), take_delays()), (0, vec![30]));
    call_back(80.0);
    assert_eq!(task.woken(), 1);
}

#[test]
fn earlier_deadline_replaces_the_timeout() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    for deadline in [80.0, 60.0, 60.0, 50.0, 50.0] {
        assert!(poll(&mut timer, &task, ms(deadline)).is_pending());
    }
    assert_eq!((timeouts(), take_delays()), (1, vec![80, 60, 50]));
    call_back(50.0);
    assert_eq!((task.woken(), timeouts()), (1, 0));
}

#[test]
fn never_and_a_past_deadline_clear_the_timeout() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    set_clock(20.0);
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    assert!(poll(&mut timer, &task, Moment::NEVER).is_pending());
    assert_eq!(timeouts(), 0);
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    assert!(poll(&mut timer, &task, ms(10.0)).is_ready());
    assert_eq!((timeouts(), Arc::strong_count(&task)), (0, 1));
}

#[test]
fn disarm_and_drop_clear_the_timeout_and_drop_the_waker() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    Pin::new(&mut timer).disarm();
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    Pin::new(&mut timer).disarm();
    assert_eq!((timeouts(), Arc::strong_count(&task)), (0, 1));
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    drop(timer);
    assert_eq!((timeouts(), Arc::strong_count(&task)), (0, 1));
}

#[test]
fn latest_waker_wins() {
    let (mut timer, first) = (WebTimer::new(), Arc::new(Task::default()));
    let second = Arc::new(Task::default());
    assert!(poll(&mut timer, &first, ms(50.0)).is_pending());
    assert!(poll(&mut timer, &second, ms(50.0)).is_pending());
    assert_eq!(Arc::strong_count(&first), 1);
    call_back(50.0);
    assert_eq!((first.woken(), second.woken()), (0, 1));
}

#[test]
fn suspended_page_makes_the_timer_late() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    call_back(7_200_000.0);
    assert_eq!(task.woken(), 1);
    assert!(poll(&mut timer, &task, ms(50.0)).is_ready());
    // The clock stood still while the machine was asleep.
    assert!(poll(&mut timer, &task, ms(7_200_050.0)).is_pending());
    call_back(7_200_001.0);
    assert_eq!((task.woken(), take_delays()), (0, vec![50, 50, 49]));
}

#[test]
fn clone_waits_for_nothing() {
    let (mut timer, task) = (WebTimer::new(), Arc::new(Task::default()));
    assert!(poll(&mut timer, &task, ms(50.0)).is_pending());
    drop(timer.clone());
    assert_eq!(timeouts(), 1);
    assert!(format!("{timer:?}").contains("50ms"));
    assert!(format!("{:?}", timer.clone()).contains("None"));
}

thread_local! {
    /// The timer of a task that is polled, or dropped, while it is woken.
    static TIMER: RefCell<Option<WebTimer>> = RefCell::default();
}

struct PollWhenWoken;

impl Wake for PollWhenWoken {
    fn wake(self: Arc<Self>) {
        let mut timer = TIMER.take().expect("it is there");
        let waker = Waker::from(self);
        let mut cx = Context::from_waker(&waker);
        assert!(
            Pin::new(&mut timer)
                .poll_until(ms(50.0), &mut cx)
                .is_ready()
        );
        let next = Pin::new(&mut timer).poll_until(ms(80.0), &mut cx);
        // Drops the timer after its second deadline.
        if next.is_pending() {
            TIMER.set(Some(timer));
        }
    }
}

#[test]
fn waker_may_poll_and_drop_the_timer() {
    let mut timer = WebTimer::new();
    let waker = Waker::from(Arc::new(PollWhenWoken));
    let polled = Pin::new(&mut timer).poll_until(ms(50.0), &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    TIMER.set(Some(timer));
    call_back(50.0);
    assert_eq!(take_delays(), [50, 30]);
    call_back(80.0);
    assert!(TIMER.take().is_none());
    assert_eq!(timeouts(), 0);
}
