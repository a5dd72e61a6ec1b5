use core::iter::zip;

/// What the sums of rounded weights may be off by.
const ROUNDING: f64 = 1e-6;

/// Where the share of attempts that take longer comes down to `beyond`: the first bucket up to whose end
/// that holds. If nowhere, the last bucket with a sample, and `None` without any.
///
/// This is the product-limit estimator (E. L. Kaplan and P. Meier, *Nonparametric Estimation from
/// Incomplete Observations*, JASA 53(282), 1958). Of those who got as far as a bucket, the share that
/// ended there, `exact`, goes off the curve; those lost from sight there, `censored`, only leave the crowd
/// that later shares are taken of. In the same bucket the ended come before the lost, as there.
pub(super) fn bucket(exact: &[f32], censored: &[f32], beyond: f64) -> Option<usize> {
    let mut at_risk: f64 = sum(exact) + sum(censored);
    let mut survival = 1.0;
    let mut last = None;
    for (index, (&ended, &lost)) in zip(exact, censored).enumerate() {
        if ended == 0.0 && lost == 0.0 {
            continue;
        }
        let ended = f64::from(ended);
        survival *= (1.0 - ended / at_risk).max(0.0);
        last = Some(index);
        if survival <= beyond * (1.0 + ROUNDING) {
            break;
        }
        at_risk -= ended + f64::from(lost);
    }
    last
}

pub(super) fn sum(weights: &[f32]) -> f64 {
    weights.iter().copied().map(f64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [f32; 6] = [0.0; 6];

    #[test]
    fn without_losses_it_is_the_quantile() {
        let exact = [0.0, 90.0, 0.0, 0.0, 10.0, 0.0];
        assert_eq!(bucket(&exact, &NONE, 0.5), Some(1));
        assert_eq!(bucket(&exact, &NONE, 0.1), Some(1));
        assert_eq!(bucket(&exact, &NONE, 0.09), Some(4));
        assert_eq!(bucket(&exact, &NONE, 0.0), Some(4));
    }

    /// The worked example of Kaplan and Meier's paper: deaths at 0.8, 3.1, 5.4 and 9.2 months,
    /// losses at 1.0, 2.7, 7.0 and 12.1. It survives 0.8 with 7/8, 3.1 with 7/10, 5.4 with 21/40 and 9.2
    /// with 21/80.
    #[test]
    fn kaplan_and_meiers_own_example() {
        let exact = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
        let censored = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        for (beyond, index) in [
            (0.875, 0),
            (0.874, 3),
            (0.7, 3),
            (0.699, 4),
            (0.525, 4),
            (0.524, 6),
            (0.2625, 6),
        ] {
            assert_eq!(bucket(&exact, &censored, beyond), Some(index), "{beyond}");
        }
    }

    #[test]
    fn a_curve_that_does_not_come_down_ends_at_the_largest_sample() {
        let exact = [0.0, 50.0, 0.0, 0.0, 0.0, 0.0];
        let censored = [0.0, 0.0, 25.0, 0.0, 25.0, 0.0];
        assert_eq!(bucket(&exact, &censored, 0.5), Some(1));
        assert_eq!(bucket(&exact, &censored, 0.4), Some(4));
        assert_eq!(bucket(&NONE, &censored, 0.4), Some(4));
    }

    #[test]
    fn the_ended_come_before_the_lost_of_their_bucket() {
        let exact = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        let censored = [0.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(bucket(&exact, &censored, 0.75), Some(1));
        assert_eq!(bucket(&exact, &censored, 0.0), Some(3));
    }

    #[test]
    fn nothing_seen_is_nothing_known() {
        assert_eq!(bucket(&NONE, &NONE, 0.5), None);
        assert_eq!(bucket(&[], &[], 0.0), None);
    }
}
