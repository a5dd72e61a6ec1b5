//! What operations cost at most, counted.

use std::vec::Vec;

use crate::{Tick, Wheel, sweep::Sweep};

fn at(millis: u64) -> Tick {
    Tick::new(millis)
}

fn wheel() -> Wheel<u64> {
    Wheel::new(1)
}

/// Numbers that look random (SplitMix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How often any one timer was moved, and how many were at all.
fn moved(wheel: &Wheel<u64>) -> (usize, usize) {
    let cascades = &wheel.queue.levels.cascades;
    let most = cascades.values().max().copied().unwrap_or(0);
    (most, cascades.len())
}

/// The most often that any is moved, if so many crowd at a deadline whose digits (of six bits) are all 1, and
/// one lies before each digit, which stops the position there.
fn most_moved(digits: u32, crowd: u64) -> usize {
    let mut wheel = wheel();
    let mut deadline = 0;
    for digit in (0..digits).rev() {
        deadline |= 1 << (6 * digit);
        wheel.insert(at(deadline), 0);
    }
    for value in 1..=crowd {
        wheel.insert(at(deadline), value);
    }
    let mut out = Vec::new();
    while let Some(deadline) = wheel.next_deadline() {
        out.extend(wheel.poll(deadline));
    }
    let first = core::iter::repeat_n(0, digits as usize);
    assert!(out.into_iter().eq(first.chain(1..=crowd)));
    moved(&wheel).0
}

#[test]
fn a_timer_is_moved_at_most_five_times() {
    assert_eq!(most_moved(6, 1_000), 5);
    assert_eq!(most_moved(6, 10), 0, "a few are sorted where they are");
}

#[test]
fn a_timer_beyond_the_levels_is_moved_at_most_once_more() {
    assert_eq!(most_moved(7, 1_000), 6);
    assert_eq!(most_moved(8, 1_000), 6);
}

#[test]
fn random_timers_are_moved_less_often() {
    let (mut wheel, mut seed) = (wheel(), 0);
    for value in 0..50_000 {
        wheel.insert(at(random(&mut seed) % 86_400_000), value);
    }
    while let Some(deadline) = wheel.next_deadline() {
        wheel.poll(deadline).for_each(drop);
    }
    assert!(moved(&wheel).0 <= 2);
}

#[test]
fn timers_of_one_deadline_go_down_no_more_often() {
    for bit in [4, 10, 35, 41] {
        let mut wheel = wheel();
        // So many that they are never few enough to be sorted.
        for value in 0..1_000 {
            wheel.insert(at((1 << bit) + 5), value);
        }
        assert!(wheel.poll(at(1 << (bit + 1))).eq(0..1_000));
        assert!(moved(&wheel).0 <= 1, "the position jumps to the deadline");
    }
}

#[test]
fn a_few_timers_far_apart_are_never_moved() {
    let mut wheel = wheel();
    for value in 0..40 {
        wheel.insert(at(1 << value), value);
    }
    let mut out = Vec::new();
    while let Some(deadline) = wheel.next_deadline() {
        out.extend(wheel.poll(deadline));
    }
    assert!(out.into_iter().eq(0..40));
    assert_eq!(moved(&wheel), (0, 0));
}

#[test]
fn an_operation_takes_a_bounded_number_of_steps() {
    let (mut wheel, mut seed) = (wheel(), 1);
    let bound = Sweep::STEPS + 4;
    let mut keys: Vec<_> = (0..20_000)
        .map(|value| wheel.insert(at(random(&mut seed) % 100_000_000), value))
        .collect();
    let mut swept = 0;
    while let Some(key) = keys.pop() {
        assert!(wheel.cancel(key).is_some());
        assert!(wheel.steps <= bound, "{} steps", wheel.steps);
        swept += wheel.steps;
    }
    for value in 0..20_000 {
        let key = wheel.insert(at(random(&mut seed) % 100_000_000), value);
        assert!(wheel.steps <= bound, "{} steps", wheel.steps);
        let key = wheel.reschedule(key, at(value)).unwrap();
        assert!(wheel.steps <= bound, "{} steps", wheel.steps);
        wheel.cancel(key);
        assert!(wheel.steps <= bound, "{} steps", wheel.steps);
    }
    assert!(swept > 20_000, "it was swept");
}

#[test]
fn the_dead_are_never_many_more_than_the_living() {
    let mut wheel = wheel();
    // The living lie where the sweep comes first.
    for value in 0..10_000 {
        wheel.insert(at(64 + value % 64), value);
    }
    let mut most = 0;
    for value in 0..200_000 {
        let key = wheel.insert(at(1_000_000 + value), value);
        wheel.cancel(key);
        most = most.max(wheel.queue.len());
    }
    assert!(most <= 26_000, "{most} items for 10,000 timers");
    for value in 0..200_000 {
        let key = wheel.insert(at(0), value);
        wheel.cancel(key);
        most = most.max(wheel.queue.len());
    }
    assert!(
        most <= 26_000,
        "{most} items for 10,000 timers, in the past"
    );
}
