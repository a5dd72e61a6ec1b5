use super::*;
use crate::{Backoff, Policy as _};

fn millis(backoff: Backoff) -> [u128; 6] {
    let mut backoff = backoff;
    [1, 2, 3, 4, 5, 6].map(|failures| backoff.pause(failures).as_millis())
}

#[test]
fn first_duration_is_capped() {
    let backoff = Backoff::new(Duration::from_millis(100)).cap(Duration::from_millis(7));
    assert_eq!(millis(backoff), [7; 6]);
}

#[test]
fn factor_of_zero_or_one_keeps_the_duration() {
    for factor in [0, 1] {
        let backoff = Backoff::new(Duration::from_millis(3)).factor(factor);
        assert_eq!(millis(backoff), [3; 6]);
    }
}

#[test]
fn unlimited_growth_saturates() {
    let mut backoff = Backoff::new(Duration::MAX)
        .factor(u32::MAX)
        .jitter_seeded(1);
    for failures in 1..100 {
        assert!(backoff.pause(failures) >= Duration::from_nanos(u64::MAX / 2));
    }
    let mut backoff = Backoff::new(Duration::ZERO).jitter_seeded(1);
    assert_eq!(backoff.pause(1), Duration::ZERO);
}

#[test]
fn jitter_is_between_half_and_whole_and_repeats_with_its_seed() {
    let backoff = || Backoff::new(Duration::from_millis(100)).factor(1);
    let first = millis(backoff().jitter_seeded(7));
    assert!(first.iter().all(|pause| (50..=100).contains(pause)));
    assert!(first.iter().any(|pause| *pause != first[0]));
    assert_eq!(first, millis(backoff().jitter_seeded(7)));
    assert_ne!(first, millis(backoff().jitter_seeded(8)));
}

#[cfg(feature = "std")]
#[test]
fn jitter_without_seed_differs_between_backoffs() {
    let backoff = || {
        let backoff = Backoff::new(Duration::from_secs(1 << 20)).factor(1);
        millis(backoff.jitter())
    };
    assert_ne!(backoff(), backoff());
}
