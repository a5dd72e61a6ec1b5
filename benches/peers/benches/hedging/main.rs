//! Learnt delays beside those of the peers, on the paused clock of tokio: how much load they add,
//! and what it gains. It fails if ours is not within a tenth of its target.

mod server;
#[path = "../../../hedging/shapes.rs"]
mod shapes;

use std::{convert::Infallible, env, future::poll_fn, process::ExitCode, time::Duration};

use race_core::Adaptive;
use race_tokio::Race;
use server::Server;
use shapes::{SHAPES, Shape};
use tokio::{runtime::Builder, time::Instant};
use tower::{Service, hedge};
use tower_resilience_hedge::HedgeLayer;

const REQUESTS: usize = 50_000;

/// Latencies are so many times as long as those of the shapes, because tokio rounds sleeps up to a
/// millisecond.
const SCALE: u32 = 100;

/// As many samples as `Adaptive` remembers.
const MEMORY: u32 = 5_000;

fn main() -> ExitCode {
    if !env::args().any(|arg| arg == "--bench") {
        println!("run it with: cargo bench --bench hedging");
        return ExitCode::SUCCESS;
    }
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime is built");
    match runtime.block_on(tables()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Prints a table for each shape. Returns whether ours meets its targets.
async fn tables() -> bool {
    let mut meets = true;
    for shape in &SHAPES {
        println!(
            "{}; latencies in ms, extra attempts and work in percent",
            shape.name
        );
        println!(
            "{:<28} {:>6} {:>8} {:>6} {:>8} {:>8} {:>8}",
            "", "target", "attempts", "ratio", "work", "p99", "p99.9"
        );
        let server = Server::new(shape);
        let never = run(&server, async || server.clone().answer().await).await;
        print("never", 0.0, &never, &never);
        for target in [1.0, 5.0, 10.0] {
            let ratio = compare(shape, target, &never).await;
            meets &= (0.9..=1.1).contains(&ratio);
        }
        println!();
    }
    meets
}

/// Prints the rows of a target. Returns the extra load of ours, as a share of it.
async fn compare(shape: &'static Shape, target: f64, never: &Row) -> f64 {
    let share = 1.0 - target / 100.0;

    let server = Server::new(shape);
    let adaptive = Adaptive::extra_load(target);
    let ours = async || {
        let attempt = |_| server.clone().answer();
        Race::from_fn(&adaptive, attempt)
            .max_attempts(2)
            .first()
            .await;
    };
    let ours = run(&server, ours).await;
    print("* race, Adaptive", target, &ours, never);

    let server = Server::new(shape);
    let memory = never.mean() * MEMORY;
    let mut service = hedge::Hedge::new(server.clone(), Always, 100, share as f32, memory);
    let row = run(&server, async || call(&mut service).await).await;
    print("  tower::hedge", target, &row, never);

    let server = Server::new(shape);
    let long = Duration::from_secs(1_000_000);
    let hedged = hedged::Hedge::new(7, 64, long, 100, share).expect("the values are in range");
    let send = async || {
        let ((), loser) = hedged.send(|| server.clone().answer()).await;
        drop(loser);
    };
    let row = run(&server, send).await;
    print("  hedged", target, &row, never);

    // It does not learn: it gets the delay that is right.
    let server = Server::new(shape);
    let delay = never.percentile(100.0 * share) * SCALE;
    let layer = HedgeLayer::builder()
        .delay(delay)
        .max_hedged_attempts(2)
        .build();
    let mut service = tower::Layer::layer(&layer, server.clone());
    let row = run(&server, async || call(&mut service).await).await;
    print("  tower-resilience-hedge", target, &row, never);

    ours.extra() / target
}

/// What some requests took.
struct Row {
    /// Sorted.
    took: Vec<Duration>,
    sent: usize,
    worked: Duration,
}

impl Row {
    /// Returns the attempts beyond the first of each request, in percent.
    fn extra(&self) -> f64 {
        100.0 * (self.sent - self.took.len()) as f64 / self.took.len() as f64
    }

    fn mean(&self) -> Duration {
        self.took.iter().sum::<Duration>() / self.took.len() as u32
    }

    fn percentile(&self, percent: f64) -> Duration {
        let rank = (self.took.len() as f64 * percent / 100.0).ceil() as usize;
        self.took[rank.max(1) - 1] / SCALE
    }
}

/// Sends requests, one after the other.
async fn run(server: &Server, mut send: impl AsyncFnMut()) -> Row {
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let began = Instant::now();
        send().await;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    // Losers that run on are done then.
    while server.is_working() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let (sent, worked) = server.counts();
    Row { took, sent, worked }
}

fn print(name: &str, target: f64, row: &Row, never: &Row) {
    let millis = |percent| row.percentile(percent).as_secs_f64() * 1_000.0;
    let work = 100.0 * (row.worked.as_secs_f64() / never.worked.as_secs_f64() - 1.0);
    let ratio = match target {
        0.0 => String::new(),
        _ => format!("{:.2}", row.extra() / target),
    };
    println!(
        "{name:<28} {target:>6} {:>8.2} {ratio:>6} {work:>+8.2} {:>8.1} {:>8.1}",
        row.extra(),
        millis(99.0),
        millis(99.9),
    );
}

async fn call<S: Service<(), Response = ()>>(service: &mut S) {
    let ready = poll_fn(|cx| service.poll_ready(cx)).await.is_ok();
    assert!(
        ready && service.call(()).await.is_ok(),
        "a server does not fail"
    );
}

/// Every request may be repeated.
#[derive(Clone)]
struct Always;

impl hedge::Policy<()> for Always {
    fn clone_request(&self, (): &()) -> Option<()> {
        Some(())
    }

    fn can_retry(&self, (): &()) -> bool {
        true
    }
}

/// The error of a server that does not fail.
type Never = Infallible;
