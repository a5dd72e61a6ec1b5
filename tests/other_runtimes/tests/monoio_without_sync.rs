//! monoio without its feature `sync`: a waker does nothing on another thread, so a race that waits
//! for its timer hangs.

#![cfg(not(feature = "monoio-sync"))]

use std::{cell::Cell, future::poll_fn, rc::Rc, task::Poll, thread, time::Duration};

use monoio::{LegacyDriver, RuntimeBuilder, time::sleep};
use race::Race;
use race_other_runtimes::bounded;

#[test]
fn waker_of_a_task_panics_on_another_thread() {
    bounded(|| {
        let builder = RuntimeBuilder::<LegacyDriver>::new().enable_timer();
        let mut runtime = builder.build().expect("Linux has epoll");
        runtime.block_on(async {
            let cell = Rc::new(Cell::new(None));
            let registered = cell.clone();
            let task = monoio::spawn(poll_fn(move |cx| {
                registered.set(Some(cx.waker().clone()));
                Poll::<()>::Pending
            }));
            sleep(Duration::from_millis(1)).await;
            let waker = cell.take().expect("the task was polled");
            let woken = thread::spawn(move || waker.wake()).join();
            let panic = woken.expect_err("a waker works on another thread: monoio has changed");
            let message = panic.downcast_ref::<&str>().expect("the message is fixed");
            assert!(message.contains("when `sync` feature enabled"), "{message}");
            drop(task);
        });
    });
}

/// The race would end after its first delay. The sleeps of monoio give it many times that, and a
/// slow machine only gives it more.
#[test]
fn race_with_the_timer_of_a_thread_hangs() {
    bounded(|| {
        let builder = RuntimeBuilder::<LegacyDriver>::new().enable_timer();
        let mut runtime = builder.build().expect("Linux has epoll");
        runtime.block_on(async {
            let ended = Rc::new(Cell::new(false));
            let end = ended.clone();
            let task = monoio::spawn(async move {
                let attempts = (0..2).map(async |index| match index {
                    0 => std::future::pending().await,
                    _ => index,
                });
                Race::of(Duration::from_millis(1), attempts).first().await;
                end.set(true);
            });
            for _ in 0..20 {
                sleep(Duration::from_millis(10)).await;
            }
            assert!(!ended.get(), "the race was woken: monoio has changed");
            drop(task);
        });
    });
}
