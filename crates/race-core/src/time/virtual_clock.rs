use alloc::{collections::BTreeMap, sync::Arc, task::Wake, vec::Vec};
use core::{
    error, fmt, mem,
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Moment, Timer};

/// A clock that moves only on request, for exact tests that take no time.
///
/// [`run`](VirtualClock::run) drives a future and jumps to the next deadline whenever the future is
/// idle. Clones share one time. The clock starts at [`Moment::ZERO`].
///
/// ```
/// use core::time::Duration;
/// use race_core::{Race, test::VirtualClock};
///
/// let clock = VirtualClock::new();
/// let attempts = [100, 20, 80].map(|millis| clock.sleep(Duration::from_millis(millis)));
/// let race = Race::at(clock.timer()).of(Duration::from_millis(50), attempts);
/// let won = clock.run(race.first())?.expect("there are three candidates");
/// assert_eq!((won.index, clock.elapsed().as_millis()), (1, 70));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct VirtualClock {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Moment,
    /// Ordered by moment, then by arming order.
    alarms: BTreeMap<Alarm, Waker>,
    armed: u64,
}

type Alarm = (Moment, u64);

impl VirtualClock {
    /// Creates a clock at [`Moment::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.lock().now
    }

    /// Returns how far the clock has moved since its creation.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.now().since(Moment::ZERO)
    }

    /// Creates a timer on this clock.
    #[must_use]
    pub fn timer(&self) -> VirtualTimer {
        VirtualTimer {
            clock: self.clone(),
            alarm: None,
        }
    }

    /// Creates a future that is ready `duration` after its first poll.
    #[must_use = "futures do nothing unless polled"]
    pub fn sleep(&self, duration: Duration) -> VirtualSleep {
        VirtualSleep {
            timer: self.timer(),
            duration,
            deadline: None,
        }
    }

    /// Moves the clock and wakes the timers that became due, earliest first.
    pub fn advance(&self, duration: Duration) {
        let to = self.now() + duration;
        self.move_to(to);
    }

    /// Drives a future on this thread. Whenever it waits, the clock jumps to the next deadline.
    ///
    /// Everything the future waits for must be woken from this thread or by this clock.
    ///
    /// # Errors
    ///
    /// Returns [`Deadlock`] if the future waits and no timer of this clock is armed.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, Deadlock> {
        let mut future = pin!(future);
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Ok(output);
            }
            while !woken.0.swap(false, Ordering::Acquire) {
                let next = self.lock().alarms.keys().next().copied();
                match next {
                    Some((moment, _)) => self.move_to(moment),
                    None => return Err(Deadlock { at: self.elapsed() }),
                }
            }
        }
    }

    fn move_to(&self, to: Moment) {
        let due = {
            let mut state = self.lock();
            state.now = to.max(state.now);
            let later = match to {
                Moment::NEVER => BTreeMap::new(),
                to => state.alarms.split_off(&(to, u64::MAX)),
            };
            mem::replace(&mut state.alarms, later)
        };
        // The clock is unlocked here, because a waker may run any code.
        for (_, waker) in due {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let alarms: Vec<_> = state.alarms.keys().map(|(moment, _)| moment).collect();
        f.debug_struct("VirtualClock")
            .field("now", &state.now)
            .field("alarms", &alarms)
            .finish()
    }
}

/// A [`Timer`] on a [`VirtualClock`]. A clone is a fresh timer on the same clock.
#[derive(Debug)]
pub struct VirtualTimer {
    clock: VirtualClock,
    alarm: Option<Alarm>,
}

impl Clone for VirtualTimer {
    fn clone(&self) -> Self {
        self.clock.timer()
    }
}

impl Timer for VirtualTimer {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        if deadline != Moment::NEVER && self.now() >= deadline {
            return Poll::Ready(());
        }
        if self.alarm.is_some_and(|(moment, _)| moment != deadline) {
            self.as_mut().disarm();
        }
        if deadline != Moment::NEVER {
            let waker = cx.waker().clone();
            let replaced = {
                let mut state = self.clock.lock();
                let alarm = self.alarm.unwrap_or((deadline, state.armed));
                state.armed = state.armed.max(alarm.1 + 1);
                let replaced = state.alarms.insert(alarm, waker);
                drop(state);
                self.alarm = Some(alarm);
                replaced
            };
            drop(replaced);
        }
        Poll::Pending
    }

    fn disarm(mut self: Pin<&mut Self>) {
        if let Some(alarm) = self.alarm.take() {
            let waker = self.clock.lock().alarms.remove(&alarm);
            drop(waker);
        }
    }
}

impl Drop for VirtualTimer {
    fn drop(&mut self) {
        Pin::new(self).disarm();
    }
}

/// The future of [`VirtualClock::sleep`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct VirtualSleep {
    timer: VirtualTimer,
    duration: Duration,
    deadline: Option<Moment>,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = match self.deadline {
            Some(deadline) => deadline,
            None => self.timer.now() + self.duration,
        };
        self.deadline = Some(deadline);
        Pin::new(&mut self.timer).poll_until(deadline, cx)
    }
}

/// The future given to [`VirtualClock::run`] waits, and no timer of the clock is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// The time on the clock.
    pub at: Duration,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        write!(
            f,
            "deadlock at {at:?}: the future waits and no timer of this clock is armed; wake it \
             from this thread or let it sleep on this clock"
        )
    }
}

impl error::Error for Deadlock {}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
