//! The thread that wakes, and how deadlines come to it.
//!
//! Everything is under one lock, which is held while the wheel is asked, and never while a waker runs. The
//! thread says when it will look again before it goes to sleep, and who registers an earlier deadline wakes
//! it. While it is awake, or one woke it, that is said to be the epoch, so that nobody else does: it looks at the
//! wheel once more before it sleeps.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::PoisonError,
    task::Waker,
    thread,
    time::Duration,
};

use race_core::Moment;
use race_wheel::{Key, Tick, Wheel};

use crate::sync::{Condvar, Mutex, MutexGuard, now};

/// What deadlines are rounded up to. The kernel is coarser.
const RESOLUTION: u64 = 1_000;

/// How many are taken from the wheel before they are woken and the lock is free for others.
const TAKEN: usize = 256;

#[cfg(not(loom))]
pub(crate) static DRIVER: Driver = Driver::new();

// One for each interleaving. Its thread is the test's.
#[cfg(loom)]
loom::lazy_static! {
    pub(crate) static ref DRIVER: Driver = Driver {
        state: Mutex::new(State {
            looks_at: Some(Moment::ZERO),
            ..State::new()
        }),
        earlier: Condvar::new(),
    };
}

pub(crate) struct Driver {
    state: Mutex<State>,
    /// A deadline is earlier than what the thread sleeps until.
    earlier: Condvar,
}

struct State {
    wheel: Wheel<Waker>,
    /// When the thread looks at the wheel next; none before there is a thread.
    looks_at: Option<Moment>,
    /// How often the thread went round.
    #[cfg(test)]
    rounds: u64,
    /// How often it was woken for an earlier deadline.
    #[cfg(test)]
    calls: u64,
}

impl State {
    const fn new() -> Self {
        Self {
            wheel: Wheel::new(RESOLUTION),
            looks_at: None,
            #[cfg(test)]
            rounds: 0,
            #[cfg(test)]
            calls: 0,
        }
    }
}

impl Driver {
    #[cfg(not(loom))]
    const fn new() -> Self {
        Self {
            state: Mutex::new(State::new()),
            earlier: Condvar::new(),
        }
    }

    /// Has `waker` woken at `deadline`, which is not never.
    pub(crate) fn register(&'static self, deadline: Moment, waker: &Waker) -> Key {
        let waker = waker.clone(); // user code, before the lock
        let deadline = round_up(deadline); // as the thread does, which may be to look then already
        let mut state = self.lock();
        if state.looks_at.is_none() {
            // Under the lock, so that nobody else counts on it before it is there.
            self.start();
            state.looks_at = Some(Moment::ZERO);
        }
        let key = state.wheel.insert(at(deadline), waker);
        self.look_by(deadline, state);
        key
    }

    /// Has the same task woken at another deadline; `None` if the old one has passed, or it is another task.
    pub(crate) fn reschedule(&self, key: Key, deadline: Moment, waker: &Waker) -> Option<Key> {
        let deadline = round_up(deadline);
        let mut state = self.lock();
        if !state.wheel.get(key)?.will_wake(waker) {
            return None;
        }
        let key = state.wheel.reschedule(key, at(deadline))?;
        self.look_by(deadline, state);
        Some(key)
    }

    /// Sees to it that the thread looks at the wheel by this deadline.
    fn look_by(&self, deadline: Moment, mut state: MutexGuard<'_, State>) {
        if state.looks_at.is_some_and(|looks_at| deadline < looks_at) {
            state.looks_at = Some(Moment::ZERO);
            #[cfg(test)]
            {
                state.calls += 1;
            }
            drop(state);
            self.earlier.notify_one();
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
        if let Err(error) = thread.spawn(|| self.run()) {
            panic!("cannot start the thread of the timers: {error}");
        }
    }

    fn run(&self) {
        be_punctual();
        let mut due = Vec::new();
        let mut state = self.lock();
        loop {
            state = self.go_round(state, &mut due);
        }
    }

    /// Wakes what is due, or sleeps if nothing is.
    fn go_round<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        due: &mut Vec<Waker>,
    ) -> MutexGuard<'a, State> {
        #[cfg(test)]
        {
            state.rounds += 1;
        }
        let now = now();
        due.extend(state.wheel.poll(at(now)).take(TAKEN));
        if !due.is_empty() {
            drop(state);
            due.drain(..).for_each(wake);
            return self.lock();
        }
        let next = state.wheel.next_deadline();
        let next = next.map_or(Moment::NEVER, |next| Moment::from_nanos(next.value()));
        state.looks_at = Some(next);
        let time = (next != Moment::NEVER).then(|| next.since(now));
        state = self.sleep(state, time);
        state.looks_at = Some(Moment::ZERO);
        state
    }

    /// For so long, or until it is called.
    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match time {
            Some(time) => {
                let slept = self.earlier.wait_timeout(state, time);
                slept.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let called = self.earlier.wait(state);
                called.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics halfway: wakers are cloned, woken and dropped outside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If the waker panics that is its owner's affair, and no other's.
fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // What it panicked with may panic in its turn when it is dropped, and so on: there it ends.
        mem::forget(catch_unwind(AssertUnwindSafe(|| drop(panic))));
    }
}

/// Up to the resolution.
fn round_up(deadline: Moment) -> Moment {
    let units = deadline.as_nanos().div_ceil(RESOLUTION);
    Moment::from_nanos(units.saturating_mul(RESOLUTION))
}

fn at(moment: Moment) -> Tick {
    Tick::new(moment.as_nanos())
}

/// Asks the kernel not to put off the wakes of this thread, by up to 50 µs, to gather them with others.
#[cfg(target_os = "linux")]
fn be_punctual() {
    // If it refuses, they are that late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn be_punctual() {}

#[cfg(all(test, not(loom)))]
#[path = "driver_tests.rs"]
mod driver_tests;

#[cfg(all(test, loom))]
#[path = "loom_tests.rs"]
mod loom_tests;
