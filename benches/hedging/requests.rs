//! Requests, each a real race of two attempts on the virtual clock, one after the other.

use std::time::Duration;

use fastrand::Rng;
use race::{Adaptive, Event, Observed, Observer, Policy, VirtualClock, What, core::Race};

use super::shapes::Shape;

/// What came of some requests.
#[derive(Default)]
pub(crate) struct Served {
    /// How long each took.
    pub(crate) took: Vec<Duration>,
    /// How many were hedged.
    pub(crate) hedged: usize,
    /// How many were made before the delay was learnt.
    pub(crate) warming_up: usize,
}

impl Served {
    /// Extra load in percent.
    pub(crate) fn load(&self) -> f64 {
        100.0 * self.hedged as f64 / self.took.len() as f64
    }

    /// The same of those that could have been hedged.
    pub(crate) fn load_once_warm(&self) -> f64 {
        100.0 * self.hedged as f64 / (self.took.len() - self.warming_up) as f64
    }
}

/// Makes one request, and gives how long it took and whether it was hedged.
pub(crate) fn request<P: Policy>(
    clock: &VirtualClock,
    mut latency: impl FnMut() -> Duration,
    policy: P,
) -> (Duration, bool) {
    let mut started = 0;
    let attempt = |_: &usize| {
        started += 1;
        clock.sleep(latency())
    };
    let race = Race::new_with(clock.timer(), Duration::MAX, attempt, 0..2).policy(policy);
    let won = clock.run(race.first()).expect("every attempt ends");
    let took = won.expect("there are two").elapsed;
    (took, started == 2)
}

/// Makes `requests` with a policy that never changes.
pub(crate) fn serve(shape: &Shape, requests: usize, policy: impl Policy + Copy) -> Served {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut served = Served::default();
    for _ in 0..requests {
        let (took, hedged) = request(&clock, || shape.draw(&mut rng), policy);
        served.took.push(took);
        served.hedged += usize::from(hedged);
    }
    served
}

/// Makes `requests` with a delay that is learnt from what `observer` hands on of them.
pub(crate) fn serve_adaptive(
    shape: &Shape,
    requests: usize,
    adaptive: &Adaptive,
    observer: impl Observer + Copy,
) -> Served {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut served = Served::default();
    for _ in 0..requests {
        served.warming_up += usize::from(adaptive.delay().is_none());
        // What `Race::adaptive_with` makes, but for the observer.
        let policy = Observed::new(adaptive, clock.clone(), observer);
        let (took, hedged) = request(&clock, || shape.draw(&mut rng), policy);
        served.took.push(took);
        served.hedged += usize::from(hedged);
    }
    served
}

/// An observer that is blind to the losers.
pub(crate) fn winners_only(mut adaptive: &Adaptive) -> impl Observer + Copy {
    move |event: Event| {
        if event.what == What::Won {
            adaptive.observe(event);
        }
    }
}
