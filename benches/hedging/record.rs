use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use fastrand::Rng;
use race::{Adaptive, Cause, Event, EventKind, Moment, Observer as _};

use crate::shapes::STRAGGLERS;

const SAMPLES: usize = 1_000_000;

/// The cost of a sample, including the computation of the rule. By the real clock, so without
/// bounds.
pub(crate) fn run() {
    let mut rng = Rng::with_seed(1);
    let took: Vec<_> = (0..4_096).map(|_| STRAGGLERS.draw(&mut rng)).collect();
    println!("A sample, including the computation of the rule: ns each, of {SAMPLES}");
    println!("{:<19} {:>10} {:>10}", "", "extra_load", "percentile");
    for memory in [1_000, 5_000, 50_000] {
        let extra_load = each(&took, &Adaptive::extra_load(5.0).memory(memory));
        let single = Adaptive::percentile(99.0).extra_load(1.0).memory(memory);
        println!(
            "a memory of {memory:>7} {extra_load:>10.1} {:>10.1}",
            each(&took, &single)
        );
    }
}

/// Returns the nanoseconds that one of some samples costs.
fn each(took: &[Duration], mut adaptive: &Adaptive) -> f64 {
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
