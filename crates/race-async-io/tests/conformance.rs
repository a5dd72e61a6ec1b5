//! `AsyncIoTimer` fulfils the contract of `Timer`.

use std::{future::poll_fn, task::Poll};

use race_async_io::AsyncIoTimer;
use race_core::test::conformance;

/// Wakes itself in each poll.
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
fn clones_are_independent() {
    async_io::block_on(conformance::clones(AsyncIoTimer::new));
}

#[test]
fn busy_attempt_does_not_starve_the_timer() {
    async_io::block_on(conformance::fairness(AsyncIoTimer::new, spin));
}
