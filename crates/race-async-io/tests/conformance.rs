//! `AsyncIoTimer` keeps the contract of `Timer`.

use std::{future::poll_fn, task::Poll};

use race_async_io::AsyncIoTimer;
use race_core::conformance;

/// Is always ready to run again.
async fn spin() {
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    })
    .await;
}

#[test]
fn async_io_timer_conforms() {
    async_io::block_on(conformance::timer(AsyncIoTimer::new));
}

#[test]
fn a_busy_attempt_starves_nobody() {
    async_io::block_on(conformance::fairness(AsyncIoTimer::new, spin));
}
