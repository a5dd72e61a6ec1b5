//! The thread that wakes, and how deadlines come to it.
//!
//! Everything is under one lock, which is held for a few steps in the wheel and never while a waker runs. The
//! thread says when it will look again before it goes to sleep, and who registers an earlier deadline wakes
//! it; while it is awake that is said to be the epoch, so that nobody does, and it looks at the wheel once more before
//! it sleeps.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::Duration,
};

use race_core::Moment;
use race_wheel::{Key, Wheel};

use crate::clock;

/// What deadlines are rounded up to. The kernel is coarser.
const RESOLUTION: Duration = Duration::from_micros(1);

pub(crate) static DRIVER: Driver = Driver {
    state: Mutex::new(State {
        wheel: Wheel::new(RESOLUTION),
        looks_at: None,
    }),
    earlier: Condvar::new(),
};

pub(crate) struct Driver {
    state: Mutex<State>,
    /// A deadline is earlier than what the thread sleeps until.
    earlier: Condvar,
}

struct State {
    wheel: Wheel<Waker>,
    /// When the thread looks at the wheel next; none before there is a thread.
    looks_at: Option<Moment>,
}

impl Driver {
    /// Has `waker` woken at `deadline`, which is not never.
    pub(crate) fn register(&'static self, deadline: Moment, waker: &Waker) -> Key {
        let waker = waker.clone(); // user code, before the lock
        let mut state = self.lock();
        let key = state.wheel.insert(at(deadline), waker);
        self.look_before(deadline, state);
        key
    }

    /// Has the one of this key woken at another deadline, if it is still registered and would wake the same
    /// task.
    pub(crate) fn reschedule(
        &'static self,
        key: Key,
        deadline: Moment,
        waker: &Waker,
    ) -> Option<Key> {
        let mut state = self.lock();
        if !state.wheel.get(key)?.will_wake(waker) {
            return None;
        }
        let key = state.wheel.reschedule(key, at(deadline))?;
        self.look_before(deadline, state);
        Some(key)
    }

    /// Sees to it that the thread looks at the wheel again before this deadline.
    fn look_before(&'static self, deadline: Moment, mut state: MutexGuard<'_, State>) {
        match state.looks_at {
            None => {
                state.looks_at = Some(Moment::ZERO);
                drop(state);
                self.start();
            }
            Some(looks_at) if deadline < looks_at => {
                // Who comes before it has woken need not wake it again.
                state.looks_at = Some(Moment::ZERO);
                drop(state);
                self.earlier.notify_one();
            }
            Some(_) => {}
        }
    }

    /// Has another waker woken; false if the deadline has passed and the old one was.
    pub(crate) fn update(&self, key: Key, waker: &Waker) -> bool {
        let mut state = self.lock();
        let Some(registered) = state.wheel.get_mut(key) else {
            return false;
        };
        if registered.will_wake(waker) {
            return true;
        }
        drop(state);
        let mut waker = waker.clone(); // user code, outside the lock
        let mut state = self.lock();
        let Some(registered) = state.wheel.get_mut(key) else {
            return false;
        };
        mem::swap(registered, &mut waker);
        drop(state); // before the old waker
        true
    }

    /// Wakes nobody for this one.
    pub(crate) fn cancel(&self, key: Key) {
        let waker = self.lock().wheel.cancel(key);
        drop(waker); // outside the lock
    }

    fn start(&'static self) {
        let thread = thread::Builder::new().name("race-timer".to_owned());
        let started = thread.spawn(|| self.run());
        if let Err(error) = started {
            self.lock().looks_at = None;
            panic!("cannot start the thread of the timers: {error}");
        }
    }

    fn run(&self) {
        be_punctual();
        let mut due = Vec::new();
        let mut state = self.lock();
        loop {
            let now = clock::now();
            due.extend(state.wheel.poll(at(now)));
            if !due.is_empty() {
                drop(state);
                for waker in due.drain(..) {
                    // One that panics is its owner's affair, and no other's.
                    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                }
                state = self.lock();
                continue;
            }
            let next = state.wheel.next_deadline();
            let next = next.map_or(Moment::NEVER, |next| Moment::from_nanos(next.as_nanos()));
            state.looks_at = Some(next);
            state = self.sleep(state, next.since(now), next == Moment::NEVER);
            state.looks_at = Some(Moment::ZERO);
        }
    }

    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Duration,
        for_good: bool,
    ) -> MutexGuard<'a, State> {
        if for_good {
            return self
                .earlier
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let slept = self.earlier.wait_timeout(state, time);
        slept.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics halfway: wakers are cloned, woken and dropped outside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn at(moment: Moment) -> race_wheel::Moment {
    race_wheel::Moment::from_nanos(moment.as_nanos())
}

/// Asks the kernel not to put off the wakes of this thread, by up to 50 µs, to gather them with others.
#[cfg(target_os = "linux")]
fn be_punctual() {
    // If it refuses, they are that late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn be_punctual() {}
