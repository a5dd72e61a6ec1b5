//! Counting wakers, executors, and a watchdog.

use std::{
    panic::resume_unwind,
    pin::{Pin, pin},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use race_core::{Moment, Timer};
use race_thread::ThreadTimer;

pub(crate) const WATCHDOG: Duration = Duration::from_secs(30);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Counts its wakes.
#[derive(Default)]
pub(crate) struct Probe {
    wakes: Mutex<usize>,
    more: Condvar,
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        *self.wakes.lock().expect("no panic under the lock") += 1;
        self.more.notify_all();
    }
}

impl Probe {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn wakes(&self) -> usize {
        *self.wakes.lock().expect("no panic under the lock")
    }

    /// Waits until it was woken at least `count` times.
    pub(crate) fn wait(&self, count: usize) {
        let wakes = self.wakes.lock().expect("no panic under the lock");
        let waited = self
            .more
            .wait_timeout_while(wakes, WATCHDOG, |wakes| *wakes < count);
        let (wakes, _) = waited.expect("no panic under the lock");
        assert!(*wakes >= count, "woken {} of {count} times", *wakes);
    }
}

pub(crate) fn waker<W: Wake + Send + Sync + 'static>(wake: &Arc<W>) -> Waker {
    Waker::from(Arc::clone(wake))
}

pub(crate) fn poll(timer: &mut ThreadTimer, deadline: Moment, waker: &Waker) -> Poll<()> {
    Pin::new(timer).poll_until(deadline, &mut Context::from_waker(waker))
}

/// Returns a timer that was polled until `deadline`. It is armed unless the deadline has passed.
pub(crate) fn arm(deadline: Moment, waker: &Waker) -> ThreadTimer {
    let mut timer = ThreadTimer::new();
    let _ = poll(&mut timer, deadline, waker);
    timer
}

pub(crate) fn now() -> Moment {
    ThreadTimer::new().now()
}

/// Runs `act` with a deadline, then the check it returns. If the deadline passes during `act`,
/// tries again with more time.
pub(crate) fn in_time(mut act: impl FnMut(Moment) -> Box<dyn FnOnce()>) {
    for doubled in 0..10 {
        let deadline = now() + ms(5 << doubled);
        let check = act(deadline);
        if now() < deadline {
            return check();
        }
    }
    panic!("five seconds did not suffice");
}

/// Waits until all timers armed for `deadline` or earlier were woken: the thread wakes in order of
/// deadlines.
pub(crate) fn pass(deadline: Moment) {
    let probe = Probe::new();
    loop {
        let after = deadline.max(now()) + ms(1);
        let mut timer = ThreadTimer::new();
        if poll(&mut timer, after, &waker(&probe)).is_pending() {
            return probe.wait(1);
        }
    }
}

/// Runs a future, and polls it only when it was woken. Returns the output and the number of polls.
pub(crate) fn by_hand<F: Future>(future: F) -> (F::Output, usize) {
    struct Unpark(AtomicBool, Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
            self.1.unpark();
        }
    }
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(AtomicBool::new(true), thread::current()));
    let waker = waker(&unpark);
    let mut polls = 0;
    loop {
        while !unpark.0.swap(false, SeqCst) {
            thread::park();
        }
        polls += 1;
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, polls);
        }
    }
}

/// Runs a future under each executor, each on a new thread, with the watchdog.
pub(crate) fn everywhere<F: Future<Output = ()> + 'static>(make: fn() -> F) {
    let pollster: fn(F) = pollster::block_on;
    let futures: fn(F) = futures::executor::block_on;
    let own: fn(F) = |future| by_hand(future).0;
    for (name, run) in [
        ("pollster", pollster),
        ("futures", futures),
        ("by hand", own),
    ] {
        let (done, is_done) = mpsc::channel();
        let thread = thread::spawn(move || {
            run(make());
            let _ = done.send(());
        });
        if is_done.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
            panic!("no wake under {name}");
        }
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    }
}
