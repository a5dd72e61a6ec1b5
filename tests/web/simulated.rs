//! The timer on a simulated global scope: every call of `setTimeout`, early callbacks, long delays,
//! and a page that was suspended.

use std::{
    cell::RefCell,
    future::pending,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use race::{CatchUp, Moment, Race, Timer as _, web::WebTimer};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::global_scope::GlobalScope;

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

/// A timer and the task that polls it.
#[derive(Default)]
struct Alarm {
    timer: WebTimer,
    task: Arc<Task>,
}

impl Alarm {
    fn poll(&mut self, millis: f64) -> Poll<()> {
        let deadline = Moment::from_nanos((millis * 1e6) as u64);
        let waker = Waker::from(self.task.clone());
        let cx = &mut Context::from_waker(&waker);
        Pin::new(&mut self.timer).poll_until(deadline, cx)
    }
}

#[wasm_bindgen_test]
fn delay_is_rounded_up_and_the_callback_wakes() {
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    scope.set_clock(7.3);
    assert!(alarm.poll(56.8).is_pending());
    assert!(alarm.poll(56.8).is_pending());
    assert_eq!(scope.take_delays(), [50.0]);
    scope.call_back(57.3);
    assert_eq!(alarm.task.woken(), 1);
    assert!(alarm.poll(56.8).is_ready());
    assert_eq!((scope.timeouts(), scope.take_delays()), (0, vec![]));
}

#[wasm_bindgen_test]
fn early_callback_sets_the_timeout_again_and_wakes_nothing() {
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    assert!(alarm.poll(50.0).is_pending());
    for _ in 0..3 {
        scope.call_back(49.9); // the clock is coarse
    }
    assert_eq!(alarm.task.woken(), 0);
    assert_eq!(scope.take_delays(), [50.0, 1.0, 1.0, 1.0]);
    scope.call_back(50.9);
    assert_eq!(alarm.task.woken(), 1);
    assert!(alarm.poll(50.0).is_ready());
}

#[wasm_bindgen_test]
fn delay_beyond_the_longest_is_waited_for_in_parts() {
    const LONGEST: f64 = 2_147_483_647.0;
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    let deadline = 2.5 * LONGEST;
    assert!(alarm.poll(deadline).is_pending());
    scope.call_back(LONGEST);
    scope.call_back(2.0 * LONGEST);
    assert_eq!(
        scope.take_delays(),
        [LONGEST, LONGEST, (0.5 * LONGEST).ceil()]
    );
    assert_eq!(alarm.task.woken(), 0);
    assert!(alarm.poll(deadline).is_pending());
    scope.call_back(deadline + 0.5);
    assert_eq!(alarm.task.woken(), 1);
    assert!(alarm.poll(deadline).is_ready());
    assert_eq!((scope.timeouts(), scope.take_delays()), (0, vec![]));
}

#[wasm_bindgen_test]
fn only_an_earlier_deadline_replaces_the_timeout() {
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    for deadline in [50.0, 80.0, 30.0] {
        assert!(alarm.poll(deadline).is_pending());
        assert_eq!(scope.timeouts(), 1);
    }
    assert_eq!(scope.take_delays(), [50.0, 30.0]);
    assert!(alarm.poll(70.0).is_pending());
    scope.call_back(30.0);
    assert_eq!((alarm.task.woken(), scope.take_delays()), (0, vec![40.0]));
    scope.call_back(70.0);
    assert_eq!(alarm.task.woken(), 1);
}

#[wasm_bindgen_test]
fn disarm_never_and_drop_clear_the_timeout() {
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    let task = alarm.task.clone();
    for clear in [
        (|alarm| Pin::new(&mut alarm.timer).disarm()) as fn(&mut Alarm),
        |alarm| {
            let waker = Waker::noop();
            let cx = &mut Context::from_waker(waker);
            let polled = Pin::new(&mut alarm.timer).poll_until(Moment::NEVER, cx);
            assert!(polled.is_pending());
        },
        |alarm| *alarm = Alarm::default(),
    ] {
        assert!(alarm.poll(50.0).is_pending());
        assert_eq!(scope.timeouts(), 1);
        clear(&mut alarm);
        assert_eq!(scope.timeouts(), 0);
    }
    assert_eq!(Arc::strong_count(&task), 1);
}

thread_local! {
    /// A timer that is polled, or dropped, while its callback runs.
    static TIMER: RefCell<Option<WebTimer>> = RefCell::default();
}

struct PollWhenWoken;

impl Wake for PollWhenWoken {
    fn wake(self: Arc<Self>) {
        let mut timer = TIMER.take().expect("it is there");
        let waker = Waker::from(self);
        let cx = &mut Context::from_waker(&waker);
        let next = Moment::from(Duration::from_millis(80));
        if Pin::new(&mut timer).poll_until(next, cx).is_pending() {
            TIMER.set(Some(timer));
        }
    }
}

#[wasm_bindgen_test]
fn waker_may_poll_and_drop_the_timer() {
    let (scope, mut timer) = (GlobalScope::simulated(), WebTimer::new());
    let waker = Waker::from(Arc::new(PollWhenWoken));
    let first = Moment::from(Duration::from_millis(50));
    let polled = Pin::new(&mut timer).poll_until(first, &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    TIMER.set(Some(timer));
    scope.call_back(50.0);
    assert_eq!(scope.take_delays(), [50.0, 30.0]);
    scope.call_back(80.0);
    assert!(TIMER.take().is_none());
    assert_eq!(scope.timeouts(), 0);
}

/// How many attempts run after the page was suspended for an hour. At most ten may run.
fn running_after_suspension(catch_up: CatchUp) -> usize {
    let (scope, task) = (GlobalScope::simulated(), Arc::new(Task::default()));
    let waker = Waker::from(task.clone());
    let cx = &mut Context::from_waker(&waker);
    let delay = Duration::from_millis(100);
    let race = Race::from_fn(delay, |_| pending::<()>()).max_in_flight(10);
    let mut race = race.catch_up(catch_up);
    assert!(pin!(race.next()).poll(cx).is_pending());
    assert_eq!(race.len(), 1);
    scope.call_back(3_600_000.0);
    assert_eq!(task.woken(), 1);
    assert!(pin!(race.next()).poll(cx).is_pending());
    race.len()
}

#[wasm_bindgen_test]
fn suspended_page_causes_no_burst_of_attempts() {
    assert_eq!(running_after_suspension(CatchUp::default()), 2);
    assert_eq!(running_after_suspension(CatchUp::Burst), 10);
}

#[wasm_bindgen_test]
fn clock_that_stood_still_during_a_suspension_makes_the_timer_late() {
    let (scope, mut alarm) = (GlobalScope::simulated(), Alarm::default());
    assert!(alarm.poll(50.0).is_pending());
    scope.call_back(20.0);
    assert_eq!(
        (alarm.task.woken(), scope.take_delays()),
        (0, vec![50.0, 30.0])
    );
    scope.call_back(50.0);
    assert_eq!(alarm.task.woken(), 1);
}
