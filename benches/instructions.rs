//! Counts the instructions of a race: `cargo bench --bench instructions`. Needs valgrind.
//!
//! Callgrind runs each workload twice, with few turns and with many; the difference gives the
//! instructions per turn. The counts hardly differ between runs; they depend on the compiler.

use std::{
    env,
    error::Error,
    future::{Pending, Ready, pending, ready},
    hint::black_box,
    pin::{Pin, pin},
    process::{Command, ExitCode},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::Stream;
use race::{
    InlineRace,
    source::Of,
    tokio::{Race, TokioTimer},
};

const DELAY: Duration = Duration::from_millis(50);
const FEW: u64 = 1_000;
const MANY: u64 = 11_000;

type Attempt = Ready<Result<u64, ()>>;

/// The name of a workload, and a function that runs the given number of turns.
type Workload = (&'static str, fn(u64));

const WORKLOADS: [Workload; 7] = [
    ("a stream of three, the first is ready", |turns| {
        repeat(turns, || {
            let mut race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll_next(Pin::new(&mut race)).is_ready());
        });
    }),
    ("the same to its end, without a delay", |turns| {
        repeat(turns, || {
            let mut race = Race::of(Duration::ZERO, attempts([Ok(1), Ok(2), Ok(3)]));
            for _ in 0..3 {
                assert!(poll_next(Pin::new(&mut race)).is_ready());
            }
        });
    }),
    ("the same in place", |turns| {
        repeat(turns, || {
            let attempts = attempts([Ok(1), Ok(2), Ok(3)]);
            let mut race = pin!(InlineRace::<3, _, _>::of_with(
                TokioTimer::new(),
                DELAY,
                attempts
            ));
            assert!(poll_next(race.as_mut()).is_ready());
        });
    }),
    ("first of three, ready", |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll(race.first()).is_ready());
        });
    }),
    ("first_ok of three, the first is ready", |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll(race.first_ok()).is_ready());
        });
    }),
    ("first_ok of three, two fail at once", |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Err(()), Err(()), Ok(3)]));
            assert!(poll(race.first_ok()).is_ready());
        });
    }),
    ("a poll while two run and nothing has woken", |turns| {
        let mut race: Race<_> = Race::of(Duration::ZERO, [pending::<()>(), pending()]);
        idle(&mut race, turns);
    }),
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let result = match &args[..] {
        [] => print_all(),
        [name, turns] => run(name, turns),
        _ => Ok(()), // the arguments of another harness
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, turns: &str) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let _entered = runtime.enter();
    let (_, workload) = WORKLOADS
        .into_iter()
        .find(|workload| workload.0 == name)
        .ok_or("no workload of that name")?;
    workload(turns.parse()?);
    Ok(())
}

fn print_all() -> Result<(), Box<dyn Error>> {
    for (name, _) in WORKLOADS {
        let each = (collected(name, MANY)? - collected(name, FEW)?) / (MANY - FEW);
        println!("{name:<44} {each:>8}");
    }
    Ok(())
}

/// Returns the number of instructions that callgrind counts.
fn collected(name: &str, turns: u64) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args([name, &turns.to_string()])
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}; install the package `valgrind`"))?;
    let report = String::from_utf8_lossy(&output.stderr);
    let count = report.split("Collected :").nth(1);
    let count = count.and_then(|rest| rest.split_whitespace().next());
    Ok(count
        .ok_or_else(|| format!("unexpected output of callgrind: {report}"))?
        .parse()?)
}

#[inline(never)]
fn repeat(turns: u64, run: impl Fn()) {
    for _ in 0..turns {
        run();
    }
}

#[inline(never)]
fn idle(race: &mut Race<Of<std::array::IntoIter<Pending<()>, 2>, Pending<()>>>, turns: u64) {
    for _ in 0..turns {
        assert!(poll_next(Pin::new(&mut *race)).is_pending());
    }
}

fn attempts(outputs: [Result<u64, ()>; 3]) -> [Attempt; 3] {
    black_box(outputs.map(ready))
}

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll_next<S: Stream>(stream: Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.poll_next(&mut Context::from_waker(Waker::noop()))
}
