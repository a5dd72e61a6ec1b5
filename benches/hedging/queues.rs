use std::{sync::Arc, time::Duration};

use race::Adaptive;
use race_sim::{Hedged, Losers, Random, Report, Service, Simulation, TwoChoices};

use crate::{figures::Figures, report::Report as Gates};

const REQUESTS: usize = 400_000;
const MS: Duration = Duration::from_millis(1);

/// Sixteen servers with queues. Two in a hundred attempts take fifteen times as long.
fn simulation(load: f64) -> Simulation {
    let service = Service::exponential(MS).slow(0.02, 15.0);
    Simulation::new(service)
        .load(load)
        .requests(REQUESTS, REQUESTS / 10)
}

fn five_percent() -> Arc<Adaptive> {
    Arc::new(Adaptive::extra_load(5.0))
}

/// Hedges under load, where each attempt makes others wait.
pub(crate) fn run(gates: &mut Gates, figures: &Figures) {
    println!("Queues: 16 servers, exponential, mean 1 ms, 2 % 15 times slower; 9 x {REQUESTS}; ms");
    println!("{}", Report::HEAD);
    let at_80 = simulation(0.8);
    let run_on = at_80.clone().losers(Losers::RunOn);
    let never = at_80.run("load 0.8, random, never", |_| Hedged::never(Random));
    let on = run_on.run("random, 5 %, losers run on", |_| {
        Hedged::new(five_percent(), Random)
    });
    let cancelled = at_80.run("random, 5 %", |_| Hedged::new(five_percent(), Random));
    let two = at_80.run("two choices, never", |_| {
        Hedged::never(TwoChoices::default())
    });
    let both = at_80.run("two choices, 5 %", |_| {
        Hedged::new(five_percent(), TwoChoices::default())
    });
    let tied = at_80.run("two choices, tied", |_| {
        Hedged::new(Duration::ZERO, TwoChoices::default()).tied()
    });
    let rows = [
        (&never, None),
        (&on, None),
        (&cancelled, Some((&never, 0.4))),
        (&two, Some((&never, 0.45))),
        (&both, Some((&two, 0.25))),
        (&tied, None),
    ];
    for (row, gate) in rows {
        let mark = gate.map_or("", |(other, most)| {
            gates.within(0.0, p99(row), p99(other), most)
        });
        println!("{row}{mark}");
    }
    let title = "16 servers with queues, load 0.8";
    figures.draw("queues", title, &[never, on, cancelled, two, both, tied]);
    let at_30 = simulation(0.3);
    println!(
        "{}",
        at_30.run("load 0.3, two choices, 5 %", |_| {
            Hedged::new(five_percent(), TwoChoices::default())
        })
    );
    println!(
        "{}",
        at_30.run("two choices, tied", |_| {
            Hedged::new(Duration::ZERO, TwoChoices::default()).tied()
        })
    );
    println!();
    bound(gates, figures);
    correlation();
    thresholds(gates);
}

/// The load stays within the target while latencies rise: without a budget, nearly every request
/// outlasts a delay that was learnt before, and the copies are what makes it slow.
fn bound(gates: &mut Gates, figures: &Figures) {
    println!("The bound: load 0.9, two choices, losers run on; ms");
    println!("{}", Report::HEAD);
    let simulation = simulation(0.9).losers(Losers::RunOn);
    let never = simulation.run("never", |_| Hedged::never(TwoChoices::default()));
    let bounded = simulation.run("5 %", |_| {
        Hedged::new(five_percent(), TwoChoices::default())
    });
    let unbounded = simulation.run("5 %, without_budget", |_| {
        let adaptive = Adaptive::extra_load(5.0).without_budget();
        Hedged::new(Arc::new(adaptive), TwoChoices::default())
    });
    println!("{never}");
    let mark = gates.within(0.0, bounded.extra_load(), 5.0, 1.05);
    println!("{bounded}{mark}");
    println!("{unbounded}");
    println!();
    let title = "Losers run on, load 0.9, two choices";
    figures.draw("bound", title, &[never, bounded, unbounded]);
}

/// How much of the gain is left if the attempts of a request are slow together.
fn correlation() {
    println!("Correlation: load 0.8, two choices; p99 in ms");
    println!(
        "{:<34} {:>8} {:>8} {:>8}",
        "requests that are slow as a whole", "0", "0.5", "1"
    );
    for (name, losers, hedges) in [
        ("never", Losers::Cancelled, false),
        ("5 %", Losers::Cancelled, true),
        ("5 %, losers run on", Losers::RunOn, true),
    ] {
        print!("{name:<34}");
        for correlation in [0.0, 0.5, 1.0] {
            let simulation = simulation(0.8).losers(losers).correlation(correlation);
            let report = match hedges {
                true => {
                    simulation.run(name, |_| Hedged::new(five_percent(), TwoChoices::default()))
                }
                false => simulation.run(name, |_| Hedged::never(TwoChoices::default())),
            };
            print!(" {:>8.1}", p99(&report));
        }
        println!();
    }
    println!();
}

/// Up to which load two copies at once shorten the mean latency (Vulimiri et al., *Low Latency via
/// Redundancy*, CoNEXT 2013).
fn thresholds(gates: &mut Gates) {
    println!(
        "Two copies at once, 40 servers, losers run on: the load up to which the mean is shorter"
    );
    for (name, service, published) in [
        ("exponential", Service::exponential(MS), 1.0 / 3.0),
        ("constant", Service::constant(MS), 0.26),
    ] {
        let gain = |load: f64| {
            let simulation = Simulation::new(service.clone()).servers(40).load(load);
            let simulation = simulation.losers(Losers::RunOn).requests(200_000, 20_000);
            let one = simulation.run("one", |_| Hedged::never(Random)).mean();
            let two = simulation
                .run("two", |_| Hedged::new(Duration::ZERO, Random))
                .mean();
            one.as_secs_f64() - two.as_secs_f64()
        };
        // The gain is nearly linear about the threshold.
        let (below, above) = (published - 0.03, published + 0.03);
        let (of_below, of_above) = (gain(below), gain(above));
        let threshold = below + (above - below) * of_below / (of_below - of_above);
        let mark = gates.within(published - 0.02, threshold, 1.0, published + 0.02);
        println!("{name:<14} {threshold:.3}, published {published:.3}{mark}");
    }
    println!();
}

fn p99(report: &Report) -> f64 {
    report.percentile(99.0).as_secs_f64() / MS.as_secs_f64()
}
