//! Runs a future as the only task of an executor.

use std::{
    boxed::Box,
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};

use embassy_executor::Executor;

static ENDED: AtomicBool = AtomicBool::new(false);

/// Runs a future to its end. To be called once: there is one task.
pub fn run(future: impl Future<Output = ()> + 'static) {
    let executor = Box::leak(Box::new(Executor::new()));
    executor.run_until(
        |spawner| spawner.spawn(task(Box::pin(future)).expect("it is called once")),
        || ENDED.load(Ordering::Relaxed),
    );
}

#[embassy_executor::task]
async fn task(future: Pin<Box<dyn Future<Output = ()>>>) {
    future.await;
    ENDED.store(true, Ordering::Relaxed);
}
