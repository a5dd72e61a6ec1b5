use core::iter::zip;

/// The relative error of a share that rounded weights may cause.
const ROUNDING: f64 = 1e-6;

/// Returns the buckets with samples, and the share of the attempts that is still running after each.
///
/// This is the product-limit estimator (E. L. Kaplan and P. Meier, *Nonparametric Estimation from
/// Incomplete Observations*, JASA 53(282), 1958). The attempts that reach a bucket are at risk
/// there. `exact` is the weight of those that end in the bucket: their share of those at risk is
/// taken off the survival curve. `censored` is the weight of those that were stopped in the bucket:
/// they are no longer at risk in later buckets and do not change the curve. Within a bucket,
/// attempts end before others are stopped, as in the paper.
pub(super) fn curve(exact: &[f32], censored: &[f32]) -> impl Iterator<Item = (usize, f64)> {
    let mut at_risk: f64 = sum(exact) + sum(censored);
    let mut survival = 1.0;
    let buckets = zip(exact, censored).enumerate();
    let buckets = buckets.filter(|(_, (ended, stopped))| **ended != 0.0 || **stopped != 0.0);
    buckets.map(move |(index, (&ended, &stopped))| {
        let ended = f64::from(ended);
        survival *= (1.0 - ended / at_risk).max(0.0);
        at_risk -= ended + f64::from(stopped);
        (index, survival)
    })
}

/// Returns the first bucket after which at most the share `beyond` of the attempts is still
/// running.
///
/// If there is none, returns the last bucket with a sample; without samples `None`.
pub(super) fn bucket(exact: &[f32], censored: &[f32], beyond: f64) -> Option<usize> {
    let mut last = None;
    for (index, survival) in curve(exact, censored) {
        last = Some(index);
        if is_at_most(survival, beyond) {
            break;
        }
    }
    last
}

/// Returns whether a share is at most `bound`, up to the error of rounded weights.
pub(super) fn is_at_most(share: f64, bound: f64) -> bool {
    share <= bound * (1.0 + ROUNDING)
}

/// Returns the sum of the weights.
pub(super) fn sum(weights: &[f32]) -> f64 {
    weights.iter().copied().map(f64::from).sum()
}

#[cfg(test)]
mod tests;
