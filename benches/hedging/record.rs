use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use fastrand::Rng;
use race::{
    Adaptive, Moment,
    observe::{Cause, Event, EventKind, Observer as _},
};

use crate::{report::Report, shapes::STRAGGLERS};

const SAMPLES: usize = 1_000_000;

/// The fastest of so many rounds counts: what else the machine does makes a round slower.
const ROUNDS: usize = 5;

/// The most nanoseconds with the default memory of 5,000.
const MOST: f64 = 200.0;

/// The cost of a sample, including the computation of the rule. By the real clock.
pub(crate) fn run(report: &mut Report) {
    let mut rng = Rng::with_seed(1);
    let took: Vec<_> = (0..4_096).map(|_| STRAGGLERS.draw(&mut rng)).collect();
    println!("A sample, including the computation of the rule: ns each, of {SAMPLES}");
    println!("{:<19} {:>10} {:>10}", "", "extra_load", "percentile");
    for memory in [1_000, 5_000, 50_000] {
        let extra_load = each(&took, || Adaptive::extra_load(5.0).memory(memory));
        let percentile = || Adaptive::percentile(99.0).extra_load(1.0).seed(0);
        let percentile = each(&took, || percentile().memory(memory));
        let marks = [extra_load, percentile].map(|cost| match memory {
            5_000 => report.within(0.0, cost, MOST, 1.0),
            _ => "",
        });
        println!(
            "a memory of {memory:>7} {extra_load:>10.1} {percentile:>10.1}{}",
            marks.concat()
        );
    }
}

/// Returns the nanoseconds that one of some samples costs.
fn each(took: &[Duration], adaptive: impl Fn() -> Adaptive) -> f64 {
    let rounds = (0..ROUNDS).map(|_| round(took, &adaptive()));
    rounds.fold(f64::INFINITY, f64::min)
}

fn round(took: &[Duration], mut adaptive: &Adaptive) -> f64 {
    let began = Instant::now();
    for sample in 0..SAMPLES {
        let ran = took[sample % took.len()];
        let won = Event::new(0, Cause::First, Moment::ZERO, ran, EventKind::Won);
        adaptive.observe(won);
    }
    let each = began.elapsed().as_secs_f64() * 1e9 / SAMPLES as f64;
    black_box(adaptive.delay());
    each
}
