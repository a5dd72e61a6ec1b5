//! monoio with its feature `sync`, on io_uring and on its poll driver.
//!
//! A sleep of monoio 0.2 wakes the waker of its first poll, where the contract of `Future` says the
//! latest. A race on the heap polls its only attempt with the waker of the task, and gives each
//! attempt a waker of its own once there are two, so a sleep of the first attempt may not wake it.
//! Attempts that sleep by monoio need a race with the placement `OneWaker` or `Inline`, or await
//! the sleep in a task of its own. Reads and writes are not affected.

#![cfg(feature = "monoio-sync")]

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use monoio::{
    IoUringDriver, LegacyDriver, RuntimeBuilder, io::AsyncReadRent as _, net::TcpStream, time,
};
use race_other_runtimes::{
    answering_server_wins, bounded, suite, suite_with_one_waker, use_io_uring,
};

async fn read(address: SocketAddr) -> io::Result<u8> {
    let (read, buffer) = TcpStream::connect(address).await?.read(vec![0]).await;
    read.map(|_| buffer[0])
}

fn sleep_in_a_task(duration: Duration) -> impl Future<Output = ()> {
    monoio::spawn(time::sleep(duration))
}

macro_rules! run {
    ($driver:ty, $future:expr) => {
        bounded(|| {
            let builder = RuntimeBuilder::<$driver>::new().enable_timer();
            let mut runtime = builder.build().expect("the driver is supported");
            runtime.block_on($future);
        })
    };
}

macro_rules! run_suite {
    ($driver:ty, $name:literal) => {
        run!($driver, suite($name, sleep_in_a_task));
        run!($driver, suite_with_one_waker($name, time::sleep));
        run!($driver, async {
            let task = monoio::spawn(suite($name, race::thread::sleep));
            monoio::spawn(answering_server_wins(read)).await;
            task.await;
        });
    };
}

#[test]
fn runs_on_the_poll_driver_of_monoio() {
    run_suite!(LegacyDriver, "monoio, poll");
}

#[test]
fn runs_on_the_io_uring_driver_of_monoio() {
    if use_io_uring(monoio::utils::detect_uring()) {
        run_suite!(IoUringDriver, "monoio, io_uring");
    }
}

/// If this fails, monoio has mended its sleep, and the tests above can use it directly.
#[test]
fn sleep_of_monoio_wakes_the_waker_of_its_first_poll() {
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }

    run!(LegacyDriver, async {
        let wakers = [(); 2].map(|()| Arc::new(Woken::default()));
        // Long enough for both polls, on any machine.
        let mut sleep = pin!(time::sleep(Duration::from_secs(2)));
        for waker in &wakers {
            let waker = Waker::from(waker.clone());
            let polled = sleep.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        time::sleep(Duration::from_millis(2_100)).await;
        let woken = wakers.map(|waker| waker.0.load(Relaxed));
        assert_eq!(woken, [true, false]);
        poll_fn(|cx| match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => panic!("it has fired"),
        })
        .await;
    });
}
