//! How long a body keeps its reader waiting.

use std::{
    fmt, mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker, ready},
    time::Duration,
};

use race_core::{Moment, Policy, Timer, observe::Cause};

/// Measures how long a body has had no byte while its reader waited for one.
///
/// The reader waits from a poll that is pending until its task is woken. From then until the next
/// poll, the body waits for its reader, and that time does not count, however long it is.
pub(super) struct Stalls<T, P> {
    timer: T,
    policy: P,
    limits: Limits,
    /// The number of continuations that have started.
    started: usize,
    /// The length of the next stall; `None`: there is none.
    delay: Option<Duration>,
    /// The time of the waits that are over.
    waited: Duration,
    /// When the present wait began.
    since: Option<Moment>,
}

/// What limits the continuations of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_continuations: usize,
    pub(super) min_gap: Duration,
}

impl<T: Timer + Unpin, P: Policy> Stalls<T, P> {
    /// Creates a measurement of a body that waits for nothing yet.
    pub(super) fn new(timer: T, mut policy: P, limits: Limits) -> Self {
        let delay = match limits.max_continuations {
            0 => None,
            _ => policy.delay(1, Cause::First),
        };
        Self {
            timer,
            policy,
            limits,
            started: 0,
            delay: delay.map(|delay| delay.max(limits.min_gap)),
            waited: Duration::ZERO,
            since: None,
        }
    }

    /// The reader has come back; its task was `woken` at this moment, if it was woken at all. If it
    /// was not, it has been waiting all the time.
    pub(super) fn end_wait(&mut self, woken: Option<Moment>) {
        if let (Some(since), Some(woken)) = (self.since, woken) {
            self.waited += woken.since(since);
            self.since = None;
        }
    }

    /// The reader waits from now on, unless it does so already.
    pub(super) fn begin_wait(&mut self) -> Moment {
        let timer = &self.timer;
        *self.since.get_or_insert_with(|| timer.now())
    }

    /// Returns `Ready(true)` if the body has stalled, and `Ready(false)` if no stall can happen any
    /// more. The reader waits if it is pending.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(delay) = self.delay else {
            return Poll::Ready(false);
        };
        let left = delay.saturating_sub(self.waited);
        if !left.is_zero() {
            let deadline = self.begin_wait() + left;
            ready!(Pin::new(&mut self.timer).poll_until(deadline, cx));
        }
        Poll::Ready(true)
    }

    /// The body has a byte.
    pub(super) fn byte(&mut self) {
        (self.waited, self.since) = (Duration::ZERO, None);
        Pin::new(&mut self.timer).disarm();
    }

    /// A continuation starts, because the body has stalled.
    pub(super) fn start(&mut self) {
        self.byte();
        self.started += 1;
        self.delay = match self.started < self.limits.max_continuations {
            true => self.policy.delay(self.started + 1, Cause::Delay),
            false => None,
        };
        self.delay = self.delay.map(|delay| delay.max(self.limits.min_gap));
    }

    /// No further continuation can be of the same version.
    pub(super) fn stop(&mut self) {
        self.delay = None;
    }

    pub(super) fn can_happen(&self) -> bool {
        self.delay.is_some()
    }

    /// How many continuations may still start.
    pub(super) fn left(&self) -> usize {
        self.limits.max_continuations - self.started
    }
}

impl<T, P> fmt::Debug for Stalls<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stalls")
            .field("started", &self.started)
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}

/// The waker that a watched body is polled with: it wakes the task of the reader, and notes when it
/// did so first.
pub(super) struct Woken<T> {
    clock: T,
    state: Mutex<State>,
}

struct State {
    reader: Waker,
    /// When it has first woken since the latest poll.
    first: Option<Moment>,
}

impl<T> Woken<T> {
    pub(super) fn new(clock: T) -> Arc<Self> {
        let state = Mutex::new(State {
            reader: Waker::noop().clone(),
            first: None,
        });
        Arc::new(Self { clock, state })
    }

    /// A poll by the task of `reader` begins. Returns when this waker has first woken since the
    /// latest poll.
    pub(super) fn begin_poll(&self, reader: &Waker) -> Option<Moment> {
        let mut state = self.state();
        let first = state.first.take();
        if state.reader.will_wake(reader) {
            return first;
        }
        drop(state);
        let replaced = mem::replace(&mut self.state().reader, reader.clone());
        // Unlocked, because dropping a waker may run any code.
        drop(replaced);
        first
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Timer + Send + Sync + 'static> Wake for Woken<T> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = self.clock.now();
        let mut state = self.state();
        state.first.get_or_insert(now);
        let reader = state.reader.clone();
        // Unlocked, because a waker may run any code.
        drop(state);
        reader.wake();
    }
}

#[cfg(test)]
mod tests;
