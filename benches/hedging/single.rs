use std::{sync::Arc, time::Duration};

use race::Adaptive;
use race_sim::{Hedged, Random, Service, Simulation};

use crate::{
    figures::Figures,
    report::{Report, percentile},
    requests::{serve, serve_adaptive},
    shapes::SHAPES,
};

const REQUESTS: usize = 500_000;

/// The first requests, by which the delay is learnt.
const LEARNING: usize = 20_000;

/// The shortest p99 in milliseconds that 1 % and 2 % of copies can reach, with the shapes in their
/// order. Computed from the distributions: the best delay, with the share that the load allows.
const BEST: [[f64; 2]; 4] = [[55.8, 48.8], [43.8, 42.0], [15.8, 13.1], [342.0, 259.9]];

/// One hedge, in a share of the races, by `Adaptive::percentile` ("single"), beside all that
/// outlast the delay, by `Adaptive::extra_load` ("all").
pub(crate) fn run(report: &mut Report, figures: &Figures) {
    println!("A percentile, by SingleR: {REQUESTS} requests; ms");
    println!(
        "{:<22} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} {:>6} {:>6}",
        "",
        "target",
        "never",
        "all",
        "p99",
        "best",
        "ratio",
        "p99.9:",
        "all",
        "single",
        "load",
        "all",
    );
    for (shape, best) in SHAPES.iter().zip(BEST) {
        let mut never = serve(shape, REQUESTS, |_| None).skip(LEARNING);
        for (target, best) in [1.0, 2.0].into_iter().zip(best) {
            let all = Adaptive::extra_load(target);
            let mut all = serve_adaptive(shape, REQUESTS, &all).skip(LEARNING);
            let adaptive = Adaptive::percentile(99.0).extra_load(target).seed(0);
            let mut single = serve_adaptive(shape, REQUESTS, &adaptive).skip(LEARNING);
            let p99 = percentile(&mut single.took, 99.0);
            let of_all = percentile(&mut all.took, 99.0);
            let (load, spent) = (single.load() / target, all.load() / target);
            println!(
                "{:<22} {target:>6} {:>6.1} {of_all:>6.1} {p99:>6.1} {best:>6.1} {:>6.3} {:>8.1} {:>8.1} {:>8.1} {load:>6.3} {spent:>6.3}{}{}{}",
                shape.name,
                percentile(&mut never.took, 99.0),
                p99 / best,
                percentile(&mut never.took, 99.9),
                percentile(&mut all.took, 99.9),
                percentile(&mut single.took, 99.9),
                report.within(0.96, p99, best, 1.04),
                report.within(0.0, p99, of_all, 1.03),
                report.within(0.95, load, 1.0, 1.05),
            );
        }
    }
    println!();
    tails(figures);
}

/// Draws the tails with 1 % of copies. The servers are so many that hardly a request waits.
fn tails(figures: &Figures) {
    if !figures.are_wanted() {
        return;
    }
    let service = Service::pareto(Duration::from_millis(3), 1.5);
    let simulation = Simulation::new(service).servers(1_000).load(0.01);
    let simulation = simulation.requests(REQUESTS, LEARNING);
    let never = simulation.run("never", |_| Hedged::never(Random));
    let all = simulation.run("extra_load(1.0)", |_| {
        Hedged::new(Arc::new(Adaptive::extra_load(1.0)), Random)
    });
    let single = simulation.run("percentile(99.0).extra_load(1.0)", |setup| {
        let adaptive = Adaptive::percentile(99.0).extra_load(1.0).seed(0);
        Hedged::new(Arc::new(adaptive.seed(setup.seed())), Random)
    });
    let title = "1 % of copies, Pareto(1.5) from 1 ms";
    figures.draw("percentile", title, &[never, all, single]);
}
