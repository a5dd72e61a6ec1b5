//! Requests: each is a race of up to two attempts on the virtual clock, one request after the
//! other.

use std::time::Duration;

use fastrand::Rng;
use race::{
    Adaptive, Policy,
    core::Race,
    observe::{Event, EventKind, Observer, OnEvent},
    policy::IntoPolicy,
    test::{VirtualClock, VirtualTimer},
};

use super::shapes::Shape;

/// The results of some requests.
#[derive(Default)]
pub(crate) struct Served {
    /// The latency of each.
    pub(crate) took: Vec<Duration>,
    /// Which of them were hedged.
    pub(crate) hedged: Vec<bool>,
    /// The number of requests during the warm-up.
    pub(crate) warming_up: usize,
}

impl Served {
    fn add(&mut self, (took, is_hedged): (Duration, bool)) {
        self.took.push(took);
        self.hedged.push(is_hedged);
    }

    /// Returns the extra load in percent.
    pub(crate) fn load(&self) -> f64 {
        100.0 * self.hedges() / self.took.len() as f64
    }

    /// Returns the extra load in percent, without the warm-up.
    pub(crate) fn load_once_warm(&self) -> f64 {
        100.0 * self.hedges() / (self.took.len() - self.warming_up) as f64
    }

    /// Leaves the first requests out.
    pub(crate) fn skip(mut self, requests: usize) -> Self {
        self.took.drain(..requests);
        self.hedged.drain(..requests);
        self
    }

    fn hedges(&self) -> f64 {
        self.hedged.iter().filter(|is_hedged| **is_hedged).count() as f64
    }
}

/// Makes one request. Returns its latency and whether it was hedged.
pub(crate) fn request<P: IntoPolicy<VirtualTimer>>(
    clock: &VirtualClock,
    mut latency: impl FnMut() -> Duration,
    policy: P,
    observer: impl Observer,
) -> (Duration, bool) {
    let mut started = 0;
    let attempt = |_: usize| {
        started += 1;
        clock.sleep(latency())
    };
    let race = Race::at(clock.timer())
        .from_fn(policy, attempt)
        .max_attempts(2)
        .observer(observer);
    let won = clock.run(race.first()).expect("every attempt ends");
    let took = won.expect("two attempts may start").elapsed;
    (took, started == 2)
}

/// Makes `requests` with a policy that does not learn.
pub(crate) fn serve(shape: &Shape, requests: usize, policy: impl Policy + Copy) -> Served {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut served = Served::default();
    for _ in 0..requests {
        served.add(request(&clock, || shape.draw(&mut rng), policy, ()));
    }
    served
}

/// Makes `requests` with a learnt delay and its budget.
pub(crate) fn serve_adaptive(shape: &Shape, requests: usize, adaptive: &Adaptive) -> Served {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut served = Served::default();
    for _ in 0..requests {
        served.warming_up += usize::from(adaptive.delay().is_none());
        served.add(request(&clock, || shape.draw(&mut rng), adaptive, ()));
    }
    served
}

/// Makes `requests` with a delay that is learnt from winners only, without a budget.
pub(crate) fn serve_winners_only(shape: &Shape, requests: usize, adaptive: &Adaptive) -> Served {
    let (clock, mut rng) = (VirtualClock::new(), Rng::with_seed(1));
    let mut served = Served::default();
    for _ in 0..requests {
        let delay = |_| adaptive.delay();
        let mut samples = adaptive;
        let winners_only = OnEvent::new(|event: Event| {
            if event.kind == EventKind::Won {
                samples.observe(event);
            }
        });
        served.add(request(
            &clock,
            || shape.draw(&mut rng),
            delay,
            winners_only,
        ));
    }
    served
}
