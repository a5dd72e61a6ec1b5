use std::time::Duration;

use fastrand::Rng;
use race::{Policy, test::VirtualClock};

use crate::{
    report::{Report, percentile},
    requests::request,
    shapes::{Shape, above_zero},
};

const KEYS: usize = 1_000;
const FAN_OUTS: usize = 50_000;

/// Uniform from 1 to 10 ms in 98 of 100 cases; else Pareto, such that the slowest of 1,000 has a
/// p99.9 of 1,800 ms.
const EXPONENT: f64 = 1.907;
const SERVER: Shape = Shape::new("server", |rng| match rng.f64() {
    even if even < 0.98 => 1.0 + 9.0 * (even / 0.98),
    _ => 10.0 * above_zero(rng).powf(-1.0 / EXPONENT),
});
const HEDGE_AFTER: f64 = 10.0;

/// The fan-out of Dean and Barroso, *The Tail at Scale*, CACM 56(2), 2013: a request to 1,000
/// servers takes as long as the slowest of them.
pub(crate) fn run(report: &mut Report) {
    println!("The Tail at Scale: the slowest of {KEYS} requests, {FAN_OUTS} times; ms");
    println!(
        "{:<14} {:>8} {:>10} {:>8} {:>10} {:>8} {:>10} {:>8} {:>10}",
        "", "p50", "arithmetic", "p99", "arithmetic", "p99.9", "arithmetic", "load %", "arithmetic",
    );
    row(report, "unhedged", |_| None, unhedged, 0.0);
    let delay = Duration::from_secs_f64(HEDGE_AFTER / 1_000.0);
    row(
        report,
        "after 10 ms",
        delay,
        hedged,
        100.0 * unhedged(HEDGE_AFTER),
    );
    println!();
}

fn row(
    report: &mut Report,
    name: &str,
    policy: impl Policy + Copy,
    longer: fn(f64) -> f64,
    load: f64,
) {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut extra = 0;
    let mut fan_out = || {
        let requests = (0..KEYS).map(|_| request(&clock, || SERVER.draw(&mut rng), policy, ()));
        requests.fold(Duration::ZERO, |slowest, (took, hedged)| {
            extra += usize::from(hedged);
            slowest.max(took)
        })
    };
    let mut slowest: Vec<_> = (0..FAN_OUTS).map(|_| fan_out()).collect();
    print!("{name:<14}");
    let mut marks = String::new();
    for percent in [50.0, 99.0, 99.9] {
        let reached = percentile(&mut slowest, percent);
        let target = of_the_slowest(percent, longer);
        print!(" {reached:>8.1} {target:>10.1}");
        marks += report.within(0.85, reached, target, 1.15);
    }
    let spent = 100.0 * extra as f64 / (KEYS * FAN_OUTS) as f64;
    marks += report.within(0.95, spent, load, 1.05);
    println!(" {spent:>8.2} {load:>10.2}{marks}");
}

/// Returns the share of attempts that take longer.
fn unhedged(millis: f64) -> f64 {
    match millis {
        ..1.0 => 1.0,
        1.0..10.0 => 1.0 - 0.98 * (millis - 1.0) / 9.0,
        _ => 0.02 * (millis / 10.0).powf(-EXPONENT),
    }
}

/// Returns the share of races that take longer.
fn hedged(millis: f64) -> f64 {
    unhedged(millis) * unhedged(millis - HEDGE_AFTER)
}

/// Returns this percentile of the slowest of all keys, in milliseconds. Found by bisection.
fn of_the_slowest(percent: f64, longer: fn(f64) -> f64) -> f64 {
    let (mut least, mut most) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = (least + most) / 2.0;
        if (1.0 - longer(middle)).powi(KEYS as i32) < percent / 100.0 {
            least = middle;
        } else {
            most = middle;
        }
    }
    most
}
