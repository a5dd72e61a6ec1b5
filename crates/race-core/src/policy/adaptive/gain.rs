use core::time::Duration;

use super::{curve::Curve, survival};

/// What hedging gains, measured: see [`Adaptive::gain`](super::Adaptive::gain).
///
/// Of the races that lasted longer than the delay, some were to be hedged and others were not, by a
/// draw. So they differ in nothing else, and the difference of their latencies is what hedging is
/// worth, even if the servers are slow together, and hedges that the budget refused included.
///
/// Old races fade: of each kind there are at most 1,000 in the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Gain {
    /// The percentile of [`Adaptive::percentile`](super::Adaptive::percentile).
    pub percentile: f64,
    /// The percentile of the races as they are.
    pub hedged: Duration,
    /// The percentile if none were hedged.
    pub unhedged: Duration,
    /// The number of races so far that lasted longer than the delay and were to be hedged.
    pub won_the_draw: u64,
    /// The number of races so far that lasted longer than the delay and were not.
    pub lost_the_draw: u64,
}

/// Returns the percentile in nanoseconds: the first time that at most the share `beyond` of all
/// races exceeds. A share of them lasts longer than the delay; a part of those is hedged.
pub(super) fn percentile(
    beyond: f64,
    past_delay: f64,
    (hedged, share): (&Curve, f64),
    unhedged: &Curve,
) -> Option<u64> {
    let running = |at| {
        let hedged = share * hedged.running_at(at);
        let unhedged = (1.0 - share) * unhedged.running_at(at);
        past_delay * (hedged + unhedged)
    };
    let points = hedged.points().iter().chain(unhedged.points());
    let times = points.map(|point| point.at);
    times
        .filter(|at| survival::is_at_most(running(*at), beyond))
        .min()
}
