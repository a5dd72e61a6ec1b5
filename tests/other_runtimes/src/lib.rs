//! Checks of `race::Race`, whose timer is a thread, for runtimes that `race` has no feature for.
//!
//! Each file in `tests/` runs [`suite`] on one runtime: as the future the runtime blocks on, and
//! spawned. The attempts sleep and read as that runtime does.

use std::{
    future::{pending, poll_fn},
    io::{self, Write},
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    task::Poll,
    thread,
    time::Duration,
};

use race::{OnFailure, Race, conformance, thread::ThreadTimer};

/// A test that takes longer is taken to hang. The suite takes about two seconds.
const STUCK: Duration = Duration::from_secs(120);

/// Runs a test on a thread of its own. A future that is never woken fails the test.
///
/// # Panics
///
/// Panics if `test` does, and if it does not end.
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended; // dropped at the end, also of a panic
        test();
    });
    let waited = end.recv_timeout(STUCK);
    assert_eq!(
        waited,
        Err(mpsc::RecvTimeoutError::Disconnected),
        "not woken within {STUCK:?}"
    );
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs races whose attempts wait with `sleep`, the timer of the runtime, and the conformance suite
/// of the race's own timer.
///
/// # Panics
///
/// Panics if a check fails.
pub async fn suite<F: Future<Output = ()>>(sleep: impl Fn(Duration) -> F) {
    faster_attempt_wins(&sleep).await;
    failure_starts_next_attempt(&sleep).await;
    every_completion_is_delivered(&sleep).await;
    timeout_ends_a_race(&sleep).await;
    // The attempts are woken from the thread of the timers, too.
    faster_attempt_wins(&race::thread::sleep).await;
    every_completion_is_delivered(&race::thread::sleep).await;

    conformance::timer(ThreadTimer::new).await;
    conformance::clones(ThreadTimer::new).await;
    conformance::fairness(ThreadTimer::new, busy).await;
}

/// Attempts that read a byte over TCP: the server of the first accepts and stays silent. `read`
/// connects to an address and returns the first byte.
///
/// # Panics
///
/// Panics if the byte of the second server is not the result.
pub async fn answering_server_wins<F: Future<Output = io::Result<u8>>>(
    read: impl Fn(SocketAddr) -> F,
) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let answering = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let addresses = [&silent, &answering].map(|it| it.local_addr().expect("it is bound"));
    let server = thread::spawn(move || answering.accept()?.0.write_all(b"x"));
    let race = Race::of(Duration::from_millis(20), addresses.map(read));
    let won = race.first_ok().await.expect("the second server answers");
    assert_eq!((won.index, won.output), (1, b'x'));
    let served = server.join().expect("the server does not panic");
    served.expect("the server writes its byte");
}

/// The other attempts never end, so a busy machine makes no difference.
async fn faster_attempt_wins<F: Future<Output = ()>>(sleep: &impl Fn(Duration) -> F) {
    let attempts = (0..3).map(async |index| match index {
        1 => sleep(Duration::from_millis(1)).await,
        _ => pending().await,
    });
    let race = Race::of(Duration::from_millis(20), attempts);
    let won = race.first().await.expect("there are three");
    assert_eq!(won.index, 1);
    assert!(
        won.elapsed >= Duration::from_millis(21),
        "{:?}",
        won.elapsed
    );
}

/// The delay never ends, so only the failure can start the second attempt.
async fn failure_starts_next_attempt<F: Future<Output = ()>>(sleep: &impl Fn(Duration) -> F) {
    let attempts = (0..3).map(async |index| {
        sleep(Duration::from_millis(1)).await;
        match index {
            0 => Err(io::Error::from(io::ErrorKind::NotFound)),
            _ => Ok(index),
        }
    });
    let race = Race::of(Duration::MAX, attempts).on_failure(OnFailure::Any);
    let won = race.first_ok().await.expect("the second attempt succeeds");
    assert_eq!((won.index, won.output), (1, 1));
}

async fn every_completion_is_delivered<F: Future<Output = ()>>(sleep: &impl Fn(Duration) -> F) {
    let attempts = (0..50).map(async |index| {
        sleep(Duration::from_micros(index * 7_919 % 50 * 100)).await;
        index
    });
    let mut race = Race::of(Duration::from_micros(50), attempts).max_in_flight(8);
    let mut sum = 0;
    while let Some((_, index)) = race.next().await {
        sum += index;
    }
    assert_eq!(sum, (0..50).sum());
}

async fn timeout_ends_a_race<F: Future<Output = ()>>(sleep: &impl Fn(Duration) -> F) {
    let attempts = (0..2).map(async |_| {
        sleep(Duration::from_secs(3_600)).await;
        Ok::<_, io::Error>(())
    });
    let race = Race::of(Duration::from_millis(1), attempts);
    let ended = race.deadline(Duration::from_millis(20)).first_ok().await;
    assert!(ended.is_err(), "an attempt of an hour won");
}

/// Never ends, and wakes its task in each poll.
async fn busy() {
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Whether to run the tests of io_uring, which a container may forbid.
///
/// # Panics
///
/// Panics if io_uring does not work and `RACE_REQUIRE_IO_URING` is set.
#[must_use]
pub fn use_io_uring(works: bool) -> bool {
    if !works {
        let required = std::env::var_os("RACE_REQUIRE_IO_URING").is_some();
        assert!(!required, "io_uring does not work here");
        eprintln!("skipped: io_uring does not work here");
    }
    works
}
