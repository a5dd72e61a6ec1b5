use super::*;

const NONE: [f32; 6] = [0.0; 6];

#[test]
fn estimate_without_censored_samples_is_the_quantile() {
    let exact = [0.0, 90.0, 0.0, 0.0, 10.0, 0.0];
    assert_eq!(bucket(&exact, &NONE, 0.5), Some(1));
    assert_eq!(bucket(&exact, &NONE, 0.1), Some(1));
    assert_eq!(bucket(&exact, &NONE, 0.09), Some(4));
    assert_eq!(bucket(&exact, &NONE, 0.0), Some(4));
}

/// The worked example of Kaplan and Meier's paper: deaths at 0.8, 3.1, 5.4 and 9.2 months,
/// losses at 1.0, 2.7, 7.0 and 12.1. It survives 0.8 with 7/8, 3.1 with 7/10, 5.4 with 21/40 and
/// 9.2 with 21/80.
#[test]
fn estimate_agrees_with_the_example_of_kaplan_and_meier() {
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
fn curve_that_stays_above_the_share_ends_at_the_largest_sample() {
    let exact = [0.0, 50.0, 0.0, 0.0, 0.0, 0.0];
    let censored = [0.0, 0.0, 25.0, 0.0, 25.0, 0.0];
    assert_eq!(bucket(&exact, &censored, 0.5), Some(1));
    assert_eq!(bucket(&exact, &censored, 0.4), Some(4));
    assert_eq!(bucket(&NONE, &censored, 0.4), Some(4));
}

#[test]
fn exact_samples_precede_censored_ones_of_the_same_bucket() {
    let exact = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
    let censored = [0.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(bucket(&exact, &censored, 0.75), Some(1));
    assert_eq!(bucket(&exact, &censored, 0.0), Some(3));
}

#[test]
fn no_samples_give_no_estimate() {
    assert_eq!(bucket(&NONE, &NONE, 0.5), None);
    assert_eq!(bucket(&[], &[], 0.0), None);
}
