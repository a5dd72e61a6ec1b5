use std::{f64::consts::TAU, fmt, sync::Arc, time::Duration};

use fastrand::Rng;

use crate::random::above_zero;

/// How long a server of normal speed works on a job.
///
/// ```
/// # use std::time::Duration;
/// use race_sim::Service;
///
/// // Two in a hundred jobs take thirty times as long.
/// let service = Service::exponential(Duration::from_millis(10)).slow(0.02, 30.0);
/// assert_eq!(service.mean(), Duration::from_micros(15_800));
/// ```
#[derive(Clone)]
pub struct Service {
    name: String,
    draw: Arc<dyn Fn(&mut Rng) -> f64 + Send + Sync>,
    /// The mean without slow jobs, in seconds.
    mean: f64,
    slow_share: f64,
    slow_factor: f64,
}

impl Service {
    /// Returns a distribution of your own. `draw` returns the seconds of one job, and `mean` is
    /// their mean, from which the rate of arrivals is computed.
    ///
    /// # Panics
    ///
    /// Panics if `mean` is zero. A run panics if `draw` returns a negative number or none.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        mean: Duration,
        draw: impl Fn(&mut Rng) -> f64 + Send + Sync + 'static,
    ) -> Self {
        assert!(
            !mean.is_zero(),
            "the mean service time is zero: a server must take some time"
        );
        Self {
            name: name.into(),
            draw: Arc::new(draw),
            mean: mean.as_secs_f64(),
            slow_share: 0.0,
            slow_factor: 1.0,
        }
    }

    /// Returns the same time for each job.
    ///
    /// # Panics
    ///
    /// Panics if it is zero.
    #[must_use]
    pub fn constant(time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        Self::new("constant", time, move |_| seconds)
    }

    /// Returns the exponential distribution.
    ///
    /// # Panics
    ///
    /// Panics if the mean is zero.
    #[must_use]
    pub fn exponential(mean: Duration) -> Self {
        let seconds = mean.as_secs_f64();
        Self::new("exponential", mean, move |rng| {
            -seconds * above_zero(rng).ln()
        })
    }

    /// Returns the lognormal distribution with this mean and standard deviation.
    ///
    /// # Panics
    ///
    /// Panics if the mean is zero.
    #[must_use]
    pub fn lognormal(mean: Duration, deviation: Duration) -> Self {
        let ratio = deviation.as_secs_f64() / mean.as_secs_f64();
        let variance = (1.0 + ratio * ratio).ln();
        let mu = mean.as_secs_f64().ln() - variance / 2.0;
        let sigma = variance.sqrt();
        Self::new("lognormal", mean, move |rng| {
            (mu + sigma * normal(rng)).exp()
        })
    }

    /// Returns the Pareto distribution with this mean.
    ///
    /// # Panics
    ///
    /// Panics if the mean is zero, or if `exponent` is not above 1, as there is no mean then, or not
    /// finite.
    #[must_use]
    pub fn pareto(mean: Duration, exponent: f64) -> Self {
        assert!(
            exponent > 1.0 && exponent.is_finite(),
            "the exponent of a Pareto distribution is {exponent}: it must be above 1 and finite"
        );
        let least = mean.as_secs_f64() * (exponent - 1.0) / exponent;
        let power = -1.0 / exponent;
        Self::new("Pareto", mean, move |rng| {
            least * above_zero(rng).powf(power)
        })
    }

    /// Makes a share of the jobs slower by a factor. The mean rises.
    ///
    /// Default: none. [`Simulation::correlation`](crate::Simulation::correlation) decides whether
    /// the jobs of one request are slow together.
    ///
    /// # Panics
    ///
    /// Panics if `share` is not between 0 and 1, or `factor` is not above zero and finite.
    #[must_use]
    pub fn slow(mut self, share: f64, factor: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&share),
            "the share of slow jobs is {share}: it must be between 0 and 1"
        );
        assert!(
            factor > 0.0 && factor.is_finite(),
            "slow jobs take {factor} times as long: it must be above zero and finite"
        );
        (self.slow_share, self.slow_factor) = (share, factor);
        self
    }

    /// Returns the mean time, slow jobs included.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let slowness = 1.0 + self.slow_share * (self.slow_factor - 1.0);
        seconds(self.mean * slowness)
    }

    /// Draws whether a job is slow.
    pub(crate) fn is_slow(&self, rng: &mut Rng) -> bool {
        rng.f64() < self.slow_share
    }

    /// Draws the time of a job.
    pub(crate) fn draw(&self, rng: &mut Rng, is_slow: bool) -> Duration {
        let factor = if is_slow { self.slow_factor } else { 1.0 };
        let drawn = (self.draw)(rng);
        assert!(
            drawn >= 0.0,
            "a service time of {drawn} seconds was drawn: it must be zero or more"
        );
        seconds(drawn * factor)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .field("mean", &self.mean())
            .field("slow_share", &self.slow_share)
            .field("slow_factor", &self.slow_factor)
            .finish_non_exhaustive()
    }
}

/// Returns a duration; the longest one if it is longer than that.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Draws from the standard normal distribution (Box and Muller, Annals of Mathematical Statistics
/// 29(2), 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * above_zero(rng).ln()).sqrt();
    radius * (TAU * rng.f64()).cos()
}
