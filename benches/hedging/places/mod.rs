//! Where the attempts go.

mod balanced;
mod by_load;
mod tokio_clock;

use std::{sync::Arc, time::Duration};

use race::Adaptive;
use race_sim::{Hedged, Losers, Report, Run, Service, Simulation, TwoChoices};
use tower::load::{CompleteOnResponse, PeakEwma, PendingRequests};

use crate::{figures::Figures, report::Report as Gates};
use balanced::Balanced;
use by_load::ByLoad;

const MS: Duration = Duration::from_millis(1);

/// Forgets latencies like a `Balance` does by default. In nanoseconds.
const DECAY: f64 = 1e10;

/// Sixteen servers with queues. Two in a hundred attempts take fifteen times as long.
fn servers(load: f64) -> Simulation {
    Simulation::new(Service::exponential(MS).slow(0.02, 15.0)).load(load)
}

pub(crate) fn run(gates: &mut Gates, figures: &Figures) {
    slow_servers(gates, figures);
    room(gates);
    after_overload(gates);
}

fn extra_load(percent: f64) -> Arc<Adaptive> {
    Arc::new(Adaptive::extra_load(percent))
}

/// Two of the servers are six times slower, a cancellation takes 0.5 ms, and each client knows its
/// own attempts only. The warm-up is a thousand requests of each of a hundred clients.
fn slow_servers(gates: &mut Gates, figures: &Figures) {
    println!("Places: load 0.8, 2 of 16 servers 6 times slower; ms");
    println!("{}", Report::HEAD);
    for (clients, most) in [(1, 0.5), (10, 0.45), (100, 0.25)] {
        let simulation = servers(0.8)
            .slow_servers(2, 6.0)
            .message_delay(MS / 2)
            .clients(clients)
            .requests(400_000, 100_000);
        let never = simulation.run("two choices, never", |_| {
            Hedged::never(TwoChoices::default())
        });
        let choices = simulation.run("two choices, 5 %", |_| {
            Hedged::new(extra_load(5.0), TwoChoices::default())
        });
        let pending = simulation.run("PendingRequests, 5 %", |setup| {
            let service = |service| PendingRequests::new(service, CompleteOnResponse::default());
            ByLoad::new(setup, extra_load(5.0), service)
        });
        let peak = simulation.run("PeakEwma, 5 %", |setup| {
            let service =
                |service| PeakEwma::new(service, MS, DECAY, CompleteOnResponse::default());
            ByLoad::new(setup, extra_load(5.0), service)
        });
        let unhedged = simulation.run("Balance, never", Balanced::never);
        let balanced = simulation.run("Balance, 5 %", |setup| Balanced::hedged(setup, 5.0));
        println!("clients: {clients}\n{never}");
        println!(
            "{choices}{}",
            gates.within(0.0, p99(&choices), p99(&never), 1.0)
        );
        println!("{pending}\n{peak}\n{unhedged}");
        println!(
            "{balanced}{}",
            gates.within(0.0, p99(&balanced), p99(&choices), most)
        );
        if clients == 100 {
            let title = "100 clients, two of 16 servers are slow";
            figures.draw("places", title, &[never, choices, peak, unhedged, balanced]);
        }
    }
    println!();
}

/// Losers run on: a hedge starts only where there is room, by `Targets::gate`.
fn room(gates: &mut Gates) {
    println!("Room: losers run on, 5 % with the gate; ms");
    println!(
        "{:<8} {:>8} {:>8} {:>8} {:>8} {:>8}  {:>8} {:>8} {:>8} {:>8}",
        "load", "p50", "gated", "p99", "gated", "extra", "1 %", "2 %", "5 %", "kept"
    );
    for load in [0.3, 0.5, 0.7, 0.8, 0.9, 0.95] {
        let simulation = servers(load)
            .losers(Losers::RunOn)
            .requests(400_000, 40_000);
        let never = simulation.run("never", |setup| Balanced::never(setup).run_on());
        let gated = simulation.run("gated", |setup| {
            Balanced::hedged(setup, 5.0).run_on().gated()
        });
        print!(
            "{load:<8} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2}  ",
            p50(&never),
            p50(&gated),
            p99(&never),
            p99(&gated),
            gated.extra_load(),
        );
        let mut marks = [
            gates.within(0.0, p99(&gated), p99(&never), 1.05),
            gates.within(0.0, p50(&gated), p50(&never), 1.2),
        ]
        .concat();
        if load <= 0.8 {
            let mut best = 0.0_f64;
            for percent in [1.0, 2.0, 5.0] {
                let free =
                    simulation.run("free", |setup| Balanced::hedged(setup, percent).run_on());
                best = best.max(p99(&never) - p99(&free));
                print!("{:>8.2} ", p99(&free));
            }
            let kept = (p99(&never) - p99(&gated)) / best;
            marks += gates.within(0.8, kept, 1.0, f64::MAX);
            print!("{kept:>8.2}");
        }
        println!("{marks}");
    }
    println!();
}

/// Two seconds of overload. Ten seconds later the load is within its target.
fn after_overload(gates: &mut Gates) {
    let second = Duration::from_secs(1);
    let simulation = servers(0.7)
        .losers(Losers::RunOn)
        .requests(400_000, 40_000)
        .pulse(10 * second, 12 * second, 1.3);
    let report = simulation.run("gated", |setup| {
        Balanced::hedged(setup, 5.0).run_on().gated()
    });
    let extra = |from, until| report.between(from, until).median(Run::extra_load);
    println!(
        "Overload: load 0.7, 1.3 from 10 to 12 s, losers run on, 5 % with the gate: extra load"
    );
    let (before, during) = (
        extra(5 * second, 10 * second),
        extra(10 * second, 22 * second),
    );
    let after = extra(22 * second, 40 * second);
    let mark = gates.within(0.0, after, 5.0, 1.05);
    println!("before {before:.2} %, 10 to 22 s {during:.2} %, from 22 s {after:.2} %{mark}\n");
}

fn p50(report: &Report) -> f64 {
    millis(report, 50.0)
}

fn p99(report: &Report) -> f64 {
    millis(report, 99.0)
}

fn millis(report: &Report, percent: f64) -> f64 {
    report.percentile(percent).as_secs_f64() / MS.as_secs_f64()
}
