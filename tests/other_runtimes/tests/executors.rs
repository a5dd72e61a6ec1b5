//! Executors without timers: those of the crates futures and pollster, and one in ten lines.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use futures::{
    executor::{LocalPool, ThreadPool, block_on},
    future::join,
    task::{LocalSpawnExt as _, SpawnExt as _},
};
use race::thread::sleep;
use race_other_runtimes::{bounded, suite, timer};

#[test]
fn runs_on_block_on_of_futures() {
    bounded(|| block_on(suite("futures, block_on", sleep)));
}

#[test]
fn runs_on_the_local_pool_of_futures() {
    bounded(|| {
        let mut pool = LocalPool::new();
        let spawner = pool.spawner();
        let spawn = || {
            spawner
                .spawn_local_with_handle(suite("futures, LocalPool", sleep))
                .expect("the pool runs")
        };
        let tasks = join(spawn(), spawn());
        pool.run_until(tasks);
    });
}

#[test]
fn runs_on_the_thread_pool_of_futures() {
    bounded(|| {
        let pool = ThreadPool::builder().pool_size(2).create();
        let pool = pool.expect("threads can be started");
        let spawn = || pool.spawn_with_handle(timer()).expect("the pool runs");
        block_on(join(spawn(), spawn()));
    });
}

#[test]
fn runs_on_pollster() {
    bounded(|| pollster::block_on(suite("pollster", sleep)));
}

#[test]
fn runs_on_an_executor_in_ten_lines() {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn run<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        loop {
            match future.as_mut().poll(&mut cx) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }

    bounded(|| run(suite("an executor in ten lines", sleep)));
}
