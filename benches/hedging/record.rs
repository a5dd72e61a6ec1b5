use std::{
    cell::Cell,
    hint::black_box,
    time::{Duration, Instant},
};

use fastrand::Rng;
use race::{Adaptive, Event, Observer as _, VirtualClock, What, core::Race};

use crate::shapes::STRAGGLERS;

const SAMPLES: usize = 1_000_000;

/// What a sample costs, with all that is learnt from it; by the real clock, so it has no bound.
pub(crate) fn run() {
    let mut event = won();
    let mut rng = Rng::with_seed(1);
    let took: Vec<_> = (0..4_096).map(|_| STRAGGLERS.draw(&mut rng)).collect();
    println!("A sample, and what is learnt from it: ns each, of {SAMPLES}");
    for memory in [1_000, 5_000, 50_000] {
        let adaptive = Adaptive::extra_load(5.0).memory(memory);
        let began = Instant::now();
        for sample in 0..SAMPLES {
            event.ran = took[sample % took.len()];
            (&adaptive).observe(event);
        }
        let each = began.elapsed().as_secs_f64() * 1e9 / SAMPLES as f64;
        black_box(adaptive.delay());
        println!("a memory of {memory:>7} {each:>8.1}");
    }
}

/// Only a race makes events.
fn won() -> Event {
    let clock = VirtualClock::new();
    let seen = Cell::new(None);
    let race = Race::of_with(clock.timer(), Duration::ZERO, [clock.sleep(Duration::ZERO)])
        .observer_with(clock.clone(), |event: Event| seen.set(Some(event)));
    let _won = clock.run(race.first());
    let event = seen.get().filter(|event| event.what == What::Won);
    event.expect("it won last of all")
}
