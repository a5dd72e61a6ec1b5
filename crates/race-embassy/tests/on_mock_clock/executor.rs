//! An executor for one task on the clock of embassy's mock driver, with ticks of a microsecond.

use std::{
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use embassy_time::{Duration, Instant, MockDriver};

/// The ticks after which a task that still waits is stuck: 100 seconds.
const STUCK: u64 = 100_000_000;

/// What a task returned, the ticks it took, and how often it was polled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran<O> {
    pub(crate) output: O,
    pub(crate) ticks: u64,
    pub(crate) polls: u64,
}

/// Runs a task from tick 0 and returns its output. The clock moves by a tick whenever the task
/// waits.
pub(crate) fn run<F: Future>(task: F) -> F::Output {
    count(task).output
}

/// Like [`run`], with what the task took.
pub(crate) fn count<F: Future>(task: F) -> Ran<F::Output> {
    execute(task, 0)
}

/// Like [`count`], but each poll takes a tick as well. So a task that always wakes itself does not
/// stop the clock.
pub(crate) fn count_with_slow_polls<F: Future>(task: F) -> Ran<F::Output> {
    execute(task, 1)
}

fn execute<F: Future>(task: F, ticks_per_poll: u64) -> Ran<F::Output> {
    // There is one driver in the process, and the tests run on many threads.
    static DRIVER: Mutex<()> = Mutex::new(());
    let _driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    MockDriver::get().reset();
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    let mut task = pin!(task);
    let mut polls = 0;
    loop {
        let ticks = if woken.0.swap(false, Ordering::AcqRel) {
            polls += 1;
            if let Poll::Ready(output) = poll(task.as_mut(), &waker) {
                let ticks = now();
                return Ran {
                    output,
                    ticks,
                    polls,
                };
            }
            ticks_per_poll
        } else {
            1
        };
        advance(ticks);
        assert!(now() < STUCK, "the task waits without end");
    }
}

fn poll<F: Future>(task: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    task.poll(&mut Context::from_waker(waker))
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns the current tick.
pub(crate) fn now() -> u64 {
    Instant::now().as_ticks()
}

/// Moves the clock.
pub(crate) fn advance(ticks: u64) {
    MockDriver::get().advance(Duration::from_ticks(ticks));
}
