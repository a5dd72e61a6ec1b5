//! Distributions of latencies.

use std::f64::consts::TAU;

use fastrand::Rng;

/// A distribution of latencies in milliseconds.
pub(super) type Shape = fn(&mut Rng) -> f64;

pub(super) const SHAPES: [(&str, Shape); 4] = [
    ("lognormal with stragglers", stragglers),
    ("exponential", |rng| -10.0 * above_zero(rng).ln()),
    ("Pareto(1.5)", |rng| above_zero(rng).powf(-1.0 / 1.5)),
    ("lognormal, sigma 2", |rng| lognormal(rng, 5_f64.ln(), 2.0)),
];

/// Mean 5 ms and standard deviation 2 ms; one in twenty takes ten times as long.
pub(super) fn stragglers(rng: &mut Rng) -> f64 {
    let spread = (1.0 + 0.4_f64.powi(2)).ln();
    let millis = lognormal(rng, 5_f64.ln() - spread / 2.0, spread.sqrt());
    match rng.u8(0..20) {
        0 => 10.0 * millis,
        _ => millis,
    }
}

/// By the method of Box and Muller, Annals of Mathematical Statistics 29(2), 1958.
fn lognormal(rng: &mut Rng, mu: f64, sigma: f64) -> f64 {
    let radius = (-2.0 * above_zero(rng).ln()).sqrt();
    let normal = radius * (TAU * rng.f64()).cos();
    (mu + sigma * normal).exp()
}

/// Evenly from above zero to one.
fn above_zero(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}
