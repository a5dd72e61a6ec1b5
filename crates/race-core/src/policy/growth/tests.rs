use super::*;
use crate::{Backoff, Policy as _};
#[cfg(feature = "std")]
use crate::{GrowingDelay, observe::Cause};

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

/// Distinct first pauses of 100 clones, and of 100 clones of a clone that has paused.
#[cfg(feature = "std")]
#[test]
fn clones_of_random_jitter_have_pauses_of_their_own() {
    let mut backoff = Backoff::new(Duration::from_secs(1)).jitter();
    for _ in 0..2 {
        let pauses = (0..100).map(|_| backoff.clone().pause(1));
        let distinct = pauses.collect::<std::collections::BTreeSet<_>>().len();
        // Two of 100 numbers out of half a billion are equal once in 100,000 runs.
        assert!(distinct >= 99, "{distinct}");
        backoff = backoff.clone();
        backoff.pause(1);
    }
    let growing = GrowingDelay::new(Duration::from_secs(1)).jitter();
    let delays = (0..100).map(|_| growing.clone().delay(1, Cause::First));
    let distinct = delays.collect::<std::collections::BTreeSet<_>>().len();
    assert!(distinct >= 99, "{distinct}");
}

#[test]
fn clone_of_seeded_jitter_continues_with_the_same_durations() {
    let mut backoff = Backoff::new(Duration::from_secs(1)).jitter_seeded(7);
    backoff.pause(1);
    let mut clones = [(); 3].map(|()| backoff.clone());
    for failures in 2..10 {
        let pause = backoff.pause(failures);
        for clone in &mut clones {
            assert_eq!(clone.pause(failures), pause);
        }
    }
}
