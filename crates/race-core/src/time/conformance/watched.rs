//! A limit on the real time of a check.

use core::{pin::Pin, time::Duration};

/// The real time after which a timer that does not wake fails the check.
pub(super) const STUCK: Duration = Duration::from_secs(10);

/// Awaits `future`, and panics with `rule` if it has not ended after [`STUCK`] of real time.
///
/// A thread measures that time, because the timer under test cannot.
#[cfg(all(
    feature = "test-util",
    not(all(target_family = "wasm", target_os = "unknown"))
))]
pub(super) async fn watched<F: Future>(rule: &str, mut future: Pin<&mut F>) -> F::Output {
    use alloc::sync::Arc;
    use core::{
        future::poll_fn,
        sync::atomic::{AtomicBool, Ordering},
        task::Poll,
    };
    use std::{sync::mpsc, thread};

    let stuck = Arc::new(AtomicBool::new(false));
    let mut watch: Option<mpsc::Sender<()>> = None;
    poll_fn(|cx| {
        // Before the poll, which would hide a missing wake if the deadline has passed by now.
        assert!(
            !stuck.load(Ordering::Acquire),
            "{rule}: no wake for {STUCK:?}"
        );
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(output);
        }
        watch.get_or_insert_with(|| {
            let (sender, ended) = mpsc::channel();
            let (stuck, waker) = (stuck.clone(), cx.waker().clone());
            thread::spawn(move || {
                if ended.recv_timeout(STUCK) == Err(mpsc::RecvTimeoutError::Timeout) {
                    stuck.store(true, Ordering::Release);
                    waker.wake();
                }
            });
            sender
        });
        Poll::Pending
    })
    .await
}

/// Awaits `future`. Without threads, nothing ends a check whose timer does not wake.
#[cfg(not(all(
    feature = "test-util",
    not(all(target_family = "wasm", target_os = "unknown"))
)))]
pub(super) async fn watched<F: Future>(_: &str, future: Pin<&mut F>) -> F::Output {
    future.await
}
