//! The extra load of a learnt delay, for several distributions of latencies.

use std::time::Duration;

use fastrand::Rng;
use race::{
    Adaptive,
    core::Race,
    observe::{Event, EventKind, Observer},
    policy::IntoPolicy,
    test::{VirtualClock, VirtualTimer},
};

use super::shapes::{SHAPES, stragglers};
use crate::probe::ms;

/// Runs `requests` races of two attempts each, one after the other. Returns the extra load in
/// percent.
fn extra_load<D: IntoPolicy<VirtualTimer>>(
    requests: usize,
    mut policy: impl FnMut() -> D,
    observer: impl Observer + Clone,
    mut latency: impl FnMut(&mut Rng) -> f64,
) -> f64 {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut starts = 0;
    for _ in 0..requests {
        let attempt = |_: &usize| {
            starts += 1;
            let seconds = latency(&mut rng) / 1_000.0;
            clock.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        };
        let race = Race::at(clock.timer()).new(policy(), attempt, 0..2);
        clock.run(race.observer(observer.clone()).first()).unwrap();
    }
    100.0 * (starts - requests) as f64 / requests as f64
}

#[test]
fn load_is_within_a_fifth_of_the_target_for_every_shape() {
    for (name, shape) in SHAPES {
        for target in [1.0, 5.0, 10.0] {
            let adaptive = Adaptive::extra_load(target).without_budget();
            let load = extra_load(20_000, || &adaptive, (), shape);
            let ratio = load / target;
            assert!((1.0 / 1.2..=1.2).contains(&ratio), "{name}: {load}");
        }
    }
}

#[test]
fn the_budget_keeps_the_load_below_the_target_for_every_shape() {
    for (name, shape) in SHAPES {
        let adaptive = Adaptive::extra_load(5.0);
        let load = extra_load(10_000, || &adaptive, (), shape);
        // The start reserve adds ten attempts in 10,000, and completes one.
        assert!((4.0..=5.0 + 0.11).contains(&load), "{name}: {load}");
    }
}

#[test]
fn estimator_without_losers_exceeds_the_target() {
    #[derive(Clone)]
    struct WinnersOnly<'a>(&'a Adaptive);
    impl Observer for WinnersOnly<'_> {
        fn observe(&mut self, event: Event) {
            if event.kind == EventKind::Won {
                self.0.observe(event);
            }
        }
    }
    let adaptive = Adaptive::extra_load(5.0).without_budget();
    let delay = || |_: usize| adaptive.delay();
    let load = extra_load(20_000, delay, WinnersOnly(&adaptive), stragglers);
    assert!(load > 1.5 * 5.0, "{load}");
}

#[test]
fn fixed_delay_of_10_ms_spends_7_percent() {
    let load = extra_load(20_000, || ms(10), (), stragglers);
    assert!((6.9..7.7).contains(&load), "{load}");
}

/// Warms up with `fast`, then returns the extra load while latencies double every 200 requests.
fn load_while_latencies_rise(adaptive: &Adaptive) -> f64 {
    let fast = |rng: &mut Rng| 10.0 + rng.f64();
    extra_load(2_000, || adaptive, (), fast);
    let mut requests = 0;
    extra_load(
        2_000,
        || adaptive,
        (),
        |rng| {
            requests += 1;
            (10.0 + rng.f64()) * 2_f64.powi(1 + requests / 200)
        },
    )
}

#[test]
fn the_budget_bounds_the_load_while_latencies_rise() {
    let adaptive = Adaptive::extra_load(5.0);
    let load = load_while_latencies_rise(&adaptive);
    // 5 % of 2,000 races, savings of at most 100 attempts, and a start reserve.
    assert!(load <= 5.0 + 5.0 + 0.55, "{load}");

    let unbounded = Adaptive::extra_load(5.0).without_budget();
    let load = load_while_latencies_rise(&unbounded);
    assert!(load > 3.0 * (5.0 + 5.0), "{load}");
}
