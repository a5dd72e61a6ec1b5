//! `ThreadTimer` conforms to the contract of `Timer`, on several executors.

use std::{
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::{self, Thread},
};

use race_core::test::conformance;
use race_thread::ThreadTimer;

#[test]
fn thread_timer_conforms_under_pollster() {
    pollster::block_on(conformance::timer(ThreadTimer::new));
}

#[test]
fn thread_timer_conforms_under_the_executor_of_futures() {
    futures::executor::block_on(conformance::timer(ThreadTimer::new));
}

/// A minimal executor: it parks the thread, and the waker unparks it.
#[test]
fn thread_timer_conforms_under_a_minimal_executor() {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = Box::pin(conformance::timer(ThreadTimer::new));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while future
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {
        thread::park();
    }
}

#[test]
fn thread_timer_conforms_on_eight_threads_at_once() {
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| pollster::block_on(conformance::timer(ThreadTimer::new)));
        }
    });
}
