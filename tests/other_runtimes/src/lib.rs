//! Checks of `race::Race`, whose timer is a thread, for runtimes that `race` has no feature for.
//!
//! Each file in `tests/` runs [`suite`] on one runtime: as the future the runtime blocks on, and
//! spawned. The attempts sleep and read as that runtime does.

use std::{
    future::poll_fn,
    io::{self, Write},
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    task::Poll,
    thread,
    time::Duration,
};

use race::{Race, test::conformance, thread::ThreadTimer};
use race_suite::{ClockKind, Target, WakerKind};

/// A test that takes longer is taken to hang. The suite takes a few seconds.
const STUCK: Duration = Duration::from_secs(300);

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

/// Runs the suite of races, with the timer of `race::Race` and attempts that wait with `sleep`, the
/// timer of the runtime. Prints the number of checks. Also runs [`timer`].
///
/// # Panics
///
/// Panics if a check fails.
pub async fn suite<F: Future<Output = ()>>(runtime: &str, sleep: impl Fn(Duration) -> F) {
    let place = Place::<_, true>(sleep);
    let passed = race_suite::run(&place, &mut |_| ()).await;
    println!("{runtime}: {passed} passed");
    assert!(
        is_in_readme(runtime, passed),
        "README.md lists another number of checks on {runtime} than {passed}"
    );
    every_completion_is_delivered(&place.0).await;
    timer().await;
}

/// Whether the README's table of runtimes and targets has a row with this number of checks. The row
/// begins with the name of the runtime, without its driver.
fn is_in_readme(runtime: &str, passed: usize) -> bool {
    let (name, _) = runtime.split_once(',').unwrap_or((runtime, ""));
    let (row, passed) = (format!("| {name}"), passed.to_string());
    let mut rows = include_str!("../../../README.md").lines();
    rows.any(|line| line.starts_with(&row) && line.split([' ', ',']).any(|word| word == passed))
}

/// Runs the checks of the race's own timer, and a race that is woken by its thread alone. The
/// future is `Send`.
///
/// # Panics
///
/// Panics if a check fails.
pub async fn timer() {
    every_completion_is_delivered(&race::thread::sleep).await;
    conformance::timer(ThreadTimer::new).await;
    conformance::clones(ThreadTimer::new).await;
    conformance::fairness(ThreadTimer::new, busy).await;
}

/// Like [`suite`], with the checks for a `sleep` that accepts no waker but that of its task.
///
/// # Panics
///
/// Panics if a check fails.
pub async fn suite_with_one_waker<F: Future<Output = ()>>(
    runtime: &str,
    sleep: impl Fn(Duration) -> F,
) {
    let place = Place::<_, false>(sleep);
    let passed = race_suite::run(&place, &mut |_| ()).await;
    println!("{runtime}, with one waker: {passed} passed");
}

/// The timer of a thread, and a runtime's way to sleep, with any waker or with that of the task.
struct Place<S, const ANY_WAKER: bool>(S);

impl<F: Future<Output = ()>, S: Fn(Duration) -> F, const ANY_WAKER: bool> Target
    for Place<S, ANY_WAKER>
{
    type Timer = ThreadTimer;
    type Sleep = F;
    const CLOCK: ClockKind = ClockKind::Real;
    const WAKERS: WakerKind = match ANY_WAKER {
        true => WakerKind::Any,
        false => WakerKind::Task,
    };

    fn timer(&self) -> ThreadTimer {
        ThreadTimer::new()
    }

    fn sleep(&self, duration: Duration) -> F {
        (self.0)(duration)
    }
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
