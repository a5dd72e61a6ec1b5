//! Distributions of latencies.

use std::{f64::consts::TAU, time::Duration};

use fastrand::Rng;

/// A distribution of latencies.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    millis: fn(&mut Rng) -> f64,
}

impl Shape {
    pub(crate) const fn new(name: &'static str, millis: fn(&mut Rng) -> f64) -> Self {
        Self { name, millis }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> Duration {
        let millis = (self.millis)(rng);
        Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or(Duration::MAX)
    }
}

/// Lognormal with a mean of 5 ms and a standard deviation of 2 ms; one in twenty takes ten times as
/// long.
pub(crate) const STRAGGLERS: Shape = Shape::new("lognormal, stragglers", |rng| {
    let spread = (1.0 + 0.4_f64.powi(2)).ln();
    let millis = lognormal(rng, 5_f64.ln() - spread / 2.0, spread.sqrt());
    match rng.u8(0..20) {
        0 => 10.0 * millis,
        _ => millis,
    }
});

pub(crate) const SHAPES: [Shape; 4] = [
    STRAGGLERS,
    Shape::new("exponential", |rng| -10.0 * above_zero(rng).ln()),
    Shape::new("Pareto(1.5)", |rng| above_zero(rng).powf(-1.0 / 1.5)),
    Shape::new("lognormal, sigma 2", |rng| lognormal(rng, 5_f64.ln(), 2.0)),
];

fn lognormal(rng: &mut Rng, mu: f64, sigma: f64) -> f64 {
    // Box and Muller, Annals of Mathematical Statistics 29(2), 1958.
    let radius = (-2.0 * above_zero(rng).ln()).sqrt();
    let normal = radius * (TAU * rng.f64()).cos();
    (mu + sigma * normal).exp()
}

/// Returns a uniform number in (0, 1].
pub(crate) fn above_zero(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}
