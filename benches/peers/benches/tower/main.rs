//! A hedged service when no hedge is due: `race-tower` beside `tower::hedge`.
//!
//! Allocations are exact. Times are medians of rounds that alternate.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use race_core::Adaptive;
use race_tower::tokio::HedgeLayer;
use tower::{Layer as _, Service, hedge};

const ROUNDS: usize = 15;
const REQUESTS: usize = 20_000;

/// The delay: no request takes as long.
const DELAY: Duration = Duration::from_secs(10);

struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers after as many polls that are pending.
#[derive(Clone)]
struct Server {
    pending: u32,
}

struct Answer {
    pending: u32,
}

impl Future for Answer {
    type Output = Result<u32, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.pending == 0 {
            return Poll::Ready(Ok(7));
        }
        self.pending -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Service<u32> for Server {
    type Response = u32;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Answer {
        let pending = self.pending;
        Answer { pending }
    }
}

/// Every request may be repeated.
#[derive(Clone)]
struct Always;

impl hedge::Policy<u32> for Always {
    fn clone_request(&self, request: &u32) -> Option<u32> {
        Some(*request)
    }

    fn can_retry(&self, _: &u32) -> bool {
        true
    }
}

/// Sends requests one after the other. Returns the time and the allocations of each.
async fn ask<S: Service<u32, Response = u32>>(service: &mut S) -> (f64, f64) {
    let (began, before) = (Instant::now(), CALLS.load(Relaxed));
    for number in 0..REQUESTS as u32 {
        let ready = poll_fn(|cx| service.poll_ready(cx)).await;
        let answer = match ready {
            Ok(()) => service.call(number).await,
            Err(error) => Err(error),
        };
        assert!(answer.is_ok_and(|answer| answer == 7));
    }
    let allocations = CALLS.load(Relaxed) - before;
    let nanos = began.elapsed().as_nanos() as f64;
    (
        nanos / REQUESTS as f64,
        allocations as f64 / REQUESTS as f64,
    )
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

async fn table(pending: u32) {
    let server = Server { pending };
    let mut bare = server.clone();
    let mut fixed = HedgeLayer::new(DELAY).layer(server.clone());
    let adaptive = Arc::new(Adaptive::quantile(0.99).floor(DELAY));
    let mut adaptive = HedgeLayer::new(adaptive).layer(server.clone());
    // It hedges at a quantile of the latencies once it has this many: never.
    let mut peer = hedge::Hedge::new(server, Always, u64::MAX, 0.99, Duration::from_secs(60));
    let mut rows = [
        ("- the service alone", vec![], 0.0),
        ("* race-tower, a fixed delay", vec![], 0.0),
        ("* race-tower, adaptive", vec![], 0.0),
        ("  tower::hedge", vec![], 0.0),
    ];
    for _ in 0..ROUNDS {
        let round = [
            ask(&mut bare).await,
            ask(&mut fixed).await,
            ask(&mut adaptive).await,
            ask(&mut peer).await,
        ];
        for (row, (nanos, allocations)) in rows.iter_mut().zip(round) {
            row.1.push(nanos);
            row.2 = allocations;
        }
    }
    println!("\na request that is pending {pending} times, none hedged");
    println!("{:<32}{:>12}{:>14}{:>10}", "", "ns", "allocations", "ratio");
    let peer = median(&mut rows[3].1);
    for (name, nanos, allocations) in &mut rows {
        let nanos = median(nanos);
        println!(
            "{name:<32}{nanos:>12.0}{allocations:>14.2}{:>10.2}",
            nanos / peer
        );
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime of this thread");
    runtime.block_on(async {
        table(0).await;
        table(1).await;
    });
}
