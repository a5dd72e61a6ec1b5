//! The suite of races on the runtimes that `race` has a feature for. Each test prints the number of
//! checks. [tests/other_runtimes](other_runtimes) has those without.

use std::time::Duration;

use race::{
    Timer, async_io::AsyncIoTimer, smol::SmolTimer, thread::ThreadTimer, tokio::TokioTimer,
};
use race_suite::{ClockKind, Target, WakerKind};
use tokio::runtime::Builder;

/// A timer, and the runtime's way to sleep. `EXACT` if the clock moves only while the task is idle.
struct Place<T, S, const EXACT: bool = false> {
    timer: T,
    sleep: S,
}

impl<T, F, S, const EXACT: bool> Target for Place<T, S, EXACT>
where
    T: Timer + Clone + Unpin,
    F: Future<Output = ()>,
    S: Fn(Duration) -> F,
{
    type Timer = T;
    type Sleep = F;
    const CLOCK: ClockKind = match EXACT {
        true => ClockKind::Exact,
        false => ClockKind::Real,
    };
    const WAKERS: WakerKind = WakerKind::Any;

    fn timer(&self) -> T {
        self.timer.clone()
    }

    fn sleep(&self, duration: Duration) -> F {
        (self.sleep)(duration)
    }
}

async fn suite<X: Target>(runtime: &str, target: X) {
    let passed = race_suite::run(&target, &mut |_| ()).await;
    println!("{runtime}: {passed} passed");
    assert!(
        is_in_readme(runtime, passed),
        "README.md lists another number of checks on {runtime} than {passed}"
    );
}

/// Whether the README's table of runtimes and targets has a row with this number of checks.
fn is_in_readme(runtime: &str, passed: usize) -> bool {
    let mut rows = include_str!("../README.md").lines();
    let (row, passed) = (format!("| {runtime}"), passed.to_string());
    rows.any(|line| line.starts_with(&row) && line.split([' ', ',']).any(|word| word == passed))
}

fn on_tokio() -> Place<TokioTimer, impl Fn(Duration) -> tokio::time::Sleep> {
    let (timer, sleep) = (TokioTimer::new(), tokio::time::sleep);
    Place { timer, sleep }
}

#[test]
fn suite_passes_on_tokio_with_one_thread() {
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("it can be built");
    runtime.block_on(async { suite("tokio", on_tokio()).await });
}

#[test]
fn suite_passes_on_tokio_with_many_threads() {
    let runtime = Builder::new_multi_thread().enable_time().build();
    let runtime = runtime.expect("it can be built");
    runtime.block_on(async { suite("tokio", on_tokio()).await });
}

/// To the millisecond.
#[tokio::test(start_paused = true)]
async fn suite_passes_on_the_paused_clock_of_tokio() {
    let Place { timer, sleep } = on_tokio();
    suite("tokio's paused clock", Place::<_, _, true> { timer, sleep }).await;
}

#[test]
fn suite_passes_on_smol() {
    let timer = SmolTimer::default();
    let sleep = async |duration| {
        smol::Timer::after(duration).await;
    };
    smol::block_on(suite("smol", Place::<_, _> { timer, sleep }));
}

#[test]
fn suite_passes_on_async_std() {
    let (timer, sleep) = (AsyncIoTimer::default(), async_std::task::sleep);
    async_std::task::block_on(suite("async-std", Place::<_, _> { timer, sleep }));
}

#[test]
fn suite_passes_without_a_runtime() {
    let (timer, sleep) = (ThreadTimer::new(), race::thread::sleep);
    pollster::block_on(suite("none", Place::<_, _> { timer, sleep }));
}
