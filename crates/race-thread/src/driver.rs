//! The thread that wakes tasks at their deadlines.
//!
//! One lock guards all state. It is held while the wheel is used, and never while a waker is
//! cloned, woken or dropped. Before the thread sleeps, it stores when it will look at the wheel
//! again; a caller that registers an earlier deadline wakes it. While the thread is awake, or was
//! called already, the stored time is the epoch, so no other caller wakes it: it looks at the wheel
//! once more before it sleeps.
//!
//! The thread may have much to do, and it would take the lock again before a blocked caller wakes
//! up. So it works in steps of bounded size, and between two steps it waits until one blocked
//! caller has had the lock.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{PoisonError, TryLockError, atomic::Ordering::Relaxed},
    task::Waker,
    thread,
    time::Duration,
};

use race_core::Moment;
use race_wheel::{Key, Tick, Wheel};

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, now};

/// Deadlines are rounded up to this many nanoseconds. The kernel's resolution is coarser.
const RESOLUTION: u64 = 1_000;

/// The most wakers taken from the wheel in one step.
const TAKEN: usize = 256;

/// The timers that the wheel may look at in one step. See [`Wheel::poll_limited`].
const LOOKED_AT: usize = 1_024;

/// An empty wheel keeps memory for this many wakers.
const KEPT: usize = 4_096;

#[cfg(not(loom))]
pub(crate) static DRIVER: Driver = Driver::new();

// One for each interleaving. The test runs its thread.
#[cfg(loom)]
loom::lazy_static! {
    pub(crate) static ref DRIVER: Driver = Driver {
        state: Mutex::new(State {
            looks_at: Some(Moment::ZERO),
            ..State::new()
        }),
        earlier: Condvar::new(),
        blocked: AtomicUsize::new(0),
        passed: Condvar::new(),
    };
}

pub(crate) struct Driver {
    state: Mutex<State>,
    /// Notified when a deadline is earlier than the time the thread sleeps until.
    earlier: Condvar,
    /// The number of callers that are blocked on the lock. Decremented under the lock.
    blocked: AtomicUsize,
    /// Notified when a caller has the lock that the thread stood aside for.
    passed: Condvar,
}

struct State {
    wheel: Wheel<Waker>,
    /// When the thread looks at the wheel next. `None` before the thread starts.
    looks_at: Option<Moment>,
    /// Whether the thread waits for a blocked caller to take the lock.
    stands_aside: bool,
    /// The number of rounds of the thread.
    #[cfg(test)]
    rounds: u64,
    /// How often the thread was woken for an earlier deadline.
    #[cfg(test)]
    calls: u64,
}

impl State {
    const fn new() -> Self {
        Self {
            wheel: Wheel::new(RESOLUTION),
            looks_at: None,
            stands_aside: false,
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
            blocked: AtomicUsize::new(0),
            passed: Condvar::new(),
        }
    }

    /// Registers `waker` to be woken at `deadline`, which is not `NEVER`. Starts the thread if
    /// there is none.
    pub(crate) fn register(&'static self, deadline: Moment, waker: &Waker) -> Key {
        let waker = waker.clone(); // user code, before the lock
        let deadline = round_up(deadline); // as `looks_at` is, which it is compared with
        let mut state = self.lock();
        if state.looks_at.is_none() {
            // Under the lock, so that no other caller relies on the thread before it exists.
            self.start();
            state.looks_at = Some(Moment::ZERO);
        }
        let key = state.wheel.insert(tick(deadline), waker);
        self.look_by(deadline, state);
        key
    }

    /// Moves a registration to another deadline. Returns `None` if it was woken, or is for another
    /// task.
    pub(crate) fn reschedule(&self, key: Key, deadline: Moment, waker: &Waker) -> Option<Key> {
        let deadline = round_up(deadline);
        let mut state = self.lock();
        if !state.wheel.get(key)?.will_wake(waker) {
            return None;
        }
        let key = state.wheel.reschedule(key, tick(deadline))?;
        self.look_by(deadline, state);
        Some(key)
    }

    /// Wakes the thread if it would sleep past this deadline.
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

    /// Replaces the waker of a registration. Returns `false` if the registration was woken.
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

    /// Removes a registration, if it was not woken yet.
    pub(crate) fn cancel(&self, key: Key) {
        let waker = self.lock().wheel.cancel(key);
        drop(waker); // outside the lock
    }

    fn start(&'static self) {
        let thread = thread::Builder::new().name("race-timer".to_owned());
        if let Err(error) = thread.spawn(|| self.run()) {
            panic!("cannot start the timer thread: {error}");
        }
    }

    fn run(&self) {
        reduce_timer_slack();
        let mut due = Vec::new();
        let mut state = self.lock_again();
        loop {
            state = self.go_round(state, &mut due);
        }
    }

    /// Takes one step: wakes what is due, or prepares what is due, or sleeps.
    fn go_round<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        due: &mut Vec<Waker>,
    ) -> MutexGuard<'a, State> {
        let mut state = self.stand_aside(state);
        #[cfg(test)]
        {
            state.rounds += 1;
        }
        let now = now();
        let expired = state.wheel.poll_limited(tick(now), LOOKED_AT);
        due.extend(expired.take(TAKEN));
        if !due.is_empty() {
            drop(state);
            due.drain(..).for_each(wake);
            return self.lock_again();
        }
        let next = state.wheel.next_deadline();
        let next = next.map_or(Moment::NEVER, |next| Moment::from_nanos(next.value()));
        if next <= now {
            return state; // the limit was reached
        }
        if state.wheel.is_empty() && state.wheel.capacity() > KEPT {
            let large = state.wheel.take();
            drop(state);
            drop(large); // outside the lock, as it may take long
            return self.lock_again();
        }
        state.looks_at = Some(next);
        let time = (next != Moment::NEVER).then(|| next.since(now));
        state = self.sleep(state, time);
        state.looks_at = Some(Moment::ZERO);
        state
    }

    /// Sleeps for `time`, or until notified.
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
                let notified = self.earlier.wait(state);
                notified.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Waits until one blocked caller has had the lock, if there is any. For the thread.
    fn stand_aside<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        // A counted caller has yet to take the lock, since it is counted until then.
        state.stands_aside = self.blocked.load(Relaxed) > 0;
        while state.stands_aside {
            let passed = self.passed.wait(state);
            state = passed.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Takes the lock. For callers.
    fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => return state,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.blocked.fetch_add(1, Relaxed);
        let mut state = self.lock_again();
        self.blocked.fetch_sub(1, Relaxed);
        if mem::take(&mut state.stands_aside) {
            self.passed.notify_one();
        }
        state
    }

    /// Takes the lock. For the thread, which does not stand aside for itself.
    fn lock_again(&self) -> MutexGuard<'_, State> {
        // No panic leaves the state inconsistent: wakers are cloned, woken and dropped outside the
        // lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes a task. A panic of its waker must not reach other timers.
fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping the payload may panic too. The payload of that panic is leaked.
        mem::forget(catch_unwind(AssertUnwindSafe(|| drop(panic))));
    }
}

/// Rounds up to the resolution.
fn round_up(deadline: Moment) -> Moment {
    let units = deadline.as_nanos().div_ceil(RESOLUTION);
    Moment::from_nanos(units.saturating_mul(RESOLUTION))
}

/// A tick of the wheel is a nanosecond.
fn tick(moment: Moment) -> Tick {
    Tick::new(moment.as_nanos())
}

/// Asks the kernel not to delay wakeups of this thread, by default up to 50 µs, to batch them with
/// others.
#[cfg(target_os = "linux")]
fn reduce_timer_slack() {
    // On failure, timers are that much later.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn reduce_timer_slack() {}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
