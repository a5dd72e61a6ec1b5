//! Runs a future with the waker of a task of embassy's executor, on the clock of its mock driver.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use embassy_executor::Executor;
use embassy_time::{Duration, Instant, MockDriver};

/// The ticks after which a future that still waits is stuck: 100 seconds.
const STUCK: u64 = 100_000_000;

/// What a future returned, the ticks it took, and how often it was polled.
pub struct Ran<O> {
    pub output: O,
    pub ticks: u64,
    pub polls: u64,
}

/// Runs a future from tick 0 and returns its output. The clock moves by a tick whenever the future
/// waits.
pub fn run<F: Future>(future: F) -> F::Output {
    count(future).output
}

/// Like [`run`], with what the future took.
pub fn count<F: Future>(future: F) -> Ran<F::Output> {
    // There is one driver in the process, and the tests run on many threads.
    static DRIVER: Mutex<()> = Mutex::new(());
    let _driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    MockDriver::get().reset();
    let woken = Arc::new(Mutex::new(None));
    let (mut output, mut polls) = (None, 0);
    let mut future = pin!(future);
    let executor = Box::leak(Box::new(Executor::new()));
    executor.run_until(
        |spawner| {
            spawner.spawn(task(woken.clone()).expect("there are more tasks than tests"));
            spawner.spawn(never_idle().expect("there are more tasks than tests"));
        },
        // Called after each round of the executor.
        || {
            let Some(waker) = woken.lock().expect("no test panics here").take() else {
                MockDriver::get().advance(Duration::from_ticks(1));
                assert!(now() < STUCK, "the future waits without end");
                return false;
            };
            polls += 1;
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(ready) => output = Some(ready),
                Poll::Pending => {}
            }
            output.is_some()
        },
    );
    let output = output.expect("the executor runs until there is an output");
    Ran {
        output,
        ticks: now(),
        polls,
    }
}

/// Hands out its waker whenever it is woken. The future, which is not `'static` and so cannot be a
/// task, is polled with it.
#[embassy_executor::task(pool_size = 64)]
async fn task(woken: Arc<Mutex<Option<Waker>>>) {
    poll_fn(|cx| {
        *woken.lock().expect("no test panics here") = Some(cx.waker().clone());
        Poll::Pending
    })
    .await
}

/// Keeps the executor from sleeping: nothing else moves the clock.
#[embassy_executor::task(pool_size = 64)]
async fn never_idle() {
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Returns the current tick.
pub fn now() -> u64 {
    Instant::now().as_ticks()
}
