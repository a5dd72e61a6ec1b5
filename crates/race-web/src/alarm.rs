//! One alarm on the clock of the global scope.
//!
//! At most one timeout is set. It rings at the deadline or earlier: an earlier deadline replaces
//! it, a later one leaves it. A callback that comes before the deadline sets the timeout again and
//! wakes nothing. Wakers are cloned, woken and dropped while the state is not borrowed, as they may
//! poll or drop the timer.

use alloc::rc::{Rc, Weak};
use core::{cell::RefCell, task::Waker, time::Duration};

use race_core::Moment;

use crate::global::{self, Callback, Timeout};

/// The longest delay of `setTimeout`: 2^31 - 1 ms, about 25 days. Longer ones overflow to 1 ms.
const LONGEST: u64 = i32::MAX as u64;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Returns the current time of the global scope.
pub(crate) fn now() -> Moment {
    // The conversion saturates. Times up to 104 days are exact to a nanosecond.
    Moment::from_nanos((global::now() * NANOS_PER_MILLI as f64) as u64)
}

pub(crate) struct Alarm {
    callback: Callback,
    state: RefCell<State>,
}

struct State {
    /// `NEVER` while nothing waits.
    deadline: Moment,
    waker: Option<Waker>,
    /// The timeout that is set, and when it rings.
    timeout: Option<(Moment, Timeout)>,
}

impl Alarm {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new_cyclic(|alarm: &Weak<Self>| {
            let alarm = alarm.clone();
            let callback = Callback::new(move || {
                if let Some(alarm) = alarm.upgrade() {
                    alarm.ring();
                }
            });
            let state = RefCell::new(State {
                deadline: Moment::NEVER,
                waker: None,
                timeout: None,
            });
            Self { callback, state }
        })
    }

    /// The deadline; `NEVER` while nothing waits.
    pub(crate) fn deadline(&self) -> Moment {
        self.state.borrow().deadline
    }

    /// Wakes `waker` at `deadline`, which is not `NEVER`. Replaces the previous deadline and waker.
    pub(crate) fn set(&self, now: Moment, deadline: Moment, waker: &Waker) {
        let registered = self.state.borrow_mut().waker.take();
        let waker = match registered {
            Some(registered) if registered.will_wake(waker) => registered,
            registered => {
                drop(registered);
                waker.clone()
            }
        };
        let mut state = self.state.borrow_mut();
        state.deadline = deadline;
        let replaced = state.waker.replace(waker);
        self.arm(&mut state, now);
        drop(state);
        drop(replaced);
    }

    /// Clears the timeout and removes deadline and waker.
    pub(crate) fn disarm(&self) {
        let mut state = self.state.borrow_mut();
        state.deadline = Moment::NEVER;
        if let Some((_, timeout)) = state.timeout.take() {
            timeout.clear();
        }
        let waker = state.waker.take();
        drop(state);
        drop(waker);
    }

    /// The callback of the timeout.
    fn ring(&self) {
        let now = now();
        let mut state = self.state.borrow_mut();
        state.timeout = None;
        if now < state.deadline {
            self.arm(&mut state, now);
            return;
        }
        state.deadline = Moment::NEVER;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Sets a timeout, unless one rings by the deadline.
    fn arm(&self, state: &mut State, now: Moment) {
        let deadline = state.deadline;
        if state
            .timeout
            .as_ref()
            .is_some_and(|(rings, _)| *rings <= deadline)
        {
            return;
        }
        let millis = millis(deadline.since(now));
        let rings = deadline.min(now + Duration::from_millis(millis.unsigned_abs().into()));
        let timeout = Timeout::set(&self.callback, millis);
        if let Some((_, replaced)) = state.timeout.replace((rings, timeout)) {
            replaced.clear();
        }
    }
}

/// The delay for `setTimeout`: rounded up, and at most the longest.
fn millis(left: Duration) -> i32 {
    // `left` is a difference of two moments, so its nanoseconds fit.
    let nanos = left.as_nanos() as u64;
    nanos.div_ceil(NANOS_PER_MILLI).min(LONGEST) as i32
}

#[cfg(test)]
mod tests;
