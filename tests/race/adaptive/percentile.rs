//! `Adaptive::percentile`: a shorter p99 with the same load.

use std::{cell::Cell, time::Duration};

use fastrand::Rng;
use race::{Adaptive, core::Race, test::VirtualClock};

use super::shapes::{SHAPES, stragglers};

/// What some races took.
struct Ran {
    /// In order of length.
    took: Vec<Duration>,
    /// Copies in percent of the races.
    load: f64,
}

impl Ran {
    fn p99(&self) -> f64 {
        self.took[self.took.len() * 99 / 100].as_secs_f64() * 1_000.0
    }
}

/// Runs races of up to two attempts, one after the other. The latencies of an attempt and its copy
/// are drawn together, in milliseconds.
fn run(adaptive: &Adaptive, races: usize, mut draw: impl FnMut(&mut Rng) -> [f64; 2]) -> Ran {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let (mut took, started) = (Vec::new(), Cell::new(0));
    for _ in 0..races {
        let millis = draw(&mut rng);
        let attempt = |index: &usize| {
            started.set(started.get() + 1);
            let seconds = millis[*index] / 1_000.0;
            clock.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        };
        let race = Race::at(clock.timer()).new(adaptive, attempt, 0..2);
        let won = clock.run(race.first()).unwrap().unwrap();
        took.push(won.elapsed);
    }
    took.sort_unstable();
    let load = 100.0 * (started.get() - races) as f64 / races as f64;
    Ran { took, load }
}

#[test]
fn a_percentile_is_shorter_with_the_same_load_for_every_shape() {
    for (name, shape) in SHAPES {
        let draw = |rng: &mut Rng| [shape(rng), shape(rng)];
        let all = run(&Adaptive::extra_load(1.0), 60_000, draw);
        let adaptive = Adaptive::percentile(99.0).extra_load(1.0).seed(0);
        let single = run(&adaptive, 60_000, draw);
        let gain = single.p99() / all.p99();
        assert!(gain < 0.97, "{name}: {gain}");
        // The start reserve adds eleven attempts in 60,000.
        assert!(
            (0.9..=1.019).contains(&single.load),
            "{name}: {}",
            single.load
        );
    }
}

#[test]
fn without_the_budget_the_load_is_met_as_well() {
    for (name, shape) in SHAPES {
        let draw = |rng: &mut Rng| [shape(rng), shape(rng)];
        for target in [1.0, 5.0] {
            let adaptive = Adaptive::percentile(99.0).extra_load(target).seed(0);
            let load = run(&adaptive.without_budget(), 40_000, draw).load / target;
            assert!((0.85..1.15).contains(&load), "{name}: {load} of {target}");
        }
    }
}

/// With some, the copy meets the same trouble as the first attempt.
#[test]
fn the_gain_is_measured_whether_or_not_copies_are_slow_together() {
    for (is_same, gains) in [(false, 0.5..0.95), (true, 0.98..1.1)] {
        let adaptive = Adaptive::percentile(99.0).extra_load(2.0).seed(0);
        let draw = |rng: &mut Rng| {
            let first = stragglers(rng);
            match is_same {
                true => [first, first],
                false => [first, stragglers(rng)],
            }
        };
        let ran = run(&adaptive, 60_000, draw);
        let gain = adaptive.gain().unwrap();
        let measured = gain.hedged.as_secs_f64() / gain.unhedged.as_secs_f64();
        assert!(gains.contains(&measured), "{is_same}: {measured} {gain:?}");
        let p99 = gain.hedged.as_secs_f64() * 1_000.0 / ran.p99();
        assert!((0.9..1.1).contains(&p99), "{p99}");
    }
}
