//! The cost of operations, as counts.

use std::vec::Vec;

use crate::{Tick, Wheel, bucket::Bucket, sweep::Sweep};

fn at(millis: u64) -> Tick {
    Tick::new(millis)
}

fn wheel() -> Wheel<u64> {
    Wheel::new(1)
}

/// Pseudorandom numbers (SplitMix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The most moves of any one timer, and the number of timers that were moved.
fn moved(wheel: &Wheel<u64>) -> (usize, usize) {
    let moves = &wheel.queue.levels.moves;
    let most = moves.values().max().copied().unwrap_or(0);
    (most, moves.len())
}

/// The most moves of any timer, of `crowd` timers at a deadline whose digits (of six bits) are all
/// 1. A timer before each digit stops the position there.
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
    assert_eq!(most_moved(6, 10), 0, "a few are sorted");
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
fn timers_with_one_deadline_are_moved_at_most_once() {
    for bit in [4, 10, 35, 41] {
        let mut wheel = wheel();
        // Too many to be sorted instead.
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
    assert!(swept > 20_000, "no sweep");
}

#[test]
fn dead_items_are_bounded_by_armed_timers() {
    let mut wheel = wheel();
    // The armed timers are where the sweep begins.
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

/// Polls until nothing is due, `limit` timers at a time. Checks what each call looked at, and
/// returns the values.
fn poll_limited(wheel: &mut Wheel<u64>, now: u64, limit: usize) -> Vec<u64> {
    let mut values = Vec::new();
    while wheel.next_deadline().is_some_and(|it| it <= at(now)) {
        let before = (
            wheel.queue.looked_at,
            wheel.queue.levels.moved,
            values.len(),
        );
        values.extend(wheel.poll_limited(at(now), limit));
        let looked_at = wheel.queue.looked_at - before.0;
        let most = limit + Bucket::CHUNK;
        assert!((1..most).contains(&looked_at), "looked at {looked_at}");
        assert!(wheel.queue.levels.moved - before.1 <= most);
        assert!(values.len() - before.2 <= most);
    }
    values
}

#[test]
fn a_limited_poll_looks_at_a_bounded_number_of_timers() {
    const CROWD: u64 = 20_000;
    // Level 0; moved down once; moved down from beyond the levels.
    for deadline in [5, (1 << 30) + 5, (1 << 40) + 5] {
        for limit in [1, 7, 256, 1_000] {
            let mut wheel = wheel();
            (0..CROWD).for_each(|value| _ = wheel.insert(at(deadline), value));
            assert!(
                poll_limited(&mut wheel, deadline, limit)
                    .into_iter()
                    .eq(0..CROWD)
            );
            let once = if deadline == 5 { 1 } else { 2 };
            let most = (once + 1) * CROWD as usize;
            assert!(wheel.queue.looked_at <= most, "no timer is looked at again");
        }
    }
}

#[test]
fn a_limited_poll_looks_at_a_bounded_number_of_cancelled_timers() {
    for limit in [1, 7, 256, 1_000] {
        let mut wheel = wheel();
        let mut keys: Vec<_> = (0..20_000)
            .map(|value| wheel.insert(at(5), value))
            .collect();
        // A poll has put the first timers in order, where no sweep finds them.
        assert!(wheel.poll_limited(at(5), 300).next().is_some());
        keys.split_off(10_500)
            .into_iter()
            .for_each(|key| _ = wheel.cancel(key));
        keys.drain(1..10_000).for_each(|key| _ = wheel.cancel(key));
        let values = poll_limited(&mut wheel, 5, limit);
        assert!(values.into_iter().eq(10_000..10_500));
    }
}

#[test]
fn a_timer_inserted_while_a_bucket_is_open_keeps_its_order() {
    let deadline = (1 << 12) + 70;
    let mut wheel = wheel();
    let mut expected = Vec::new();
    let mut insert = |wheel: &mut Wheel<u64>, millis: u64| {
        let value = expected.len() as u64;
        wheel.insert(at(millis), value);
        expected.push((millis, value));
    };
    for value in 0..2_000 {
        insert(&mut wheel, deadline + value % 3);
    }
    // One chunk at a time; the limit leaves no step to return a value.
    while wheel.poll_limited(at(deadline), 1).next().is_none() {
        for millis in [0, 1, 2, 3, 64, 4_096, 1 << 40].map(|later| deadline + later) {
            insert(&mut wheel, millis);
        }
        insert(&mut wheel, deadline - 1);
        insert(&mut wheel, 3);
    }
    // The first value has left.
    let first = expected.iter().position(|it| it.0 == 3).unwrap_or_default();
    expected.remove(first);
    expected.sort_unstable();
    let expected: Vec<_> = expected.into_iter().map(|(_, value)| value).collect();
    assert_eq!(wheel.poll(at(1 << 41)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_large_bucket_that_was_swept_keeps_the_order_of_insertion() {
    // One that is due as it is, and one that is moved down.
    for deadline in [5, (1 << 20) + 5] {
        for limit in [1, 500] {
            let mut wheel = wheel();
            let keys: Vec<_> = (0..20_000)
                .map(|value| wheel.insert(at(deadline), value))
                .collect();
            let mut expected: Vec<u64> = Vec::new();
            for (value, key) in (0..).zip(keys) {
                if value % 7 < 5 {
                    wheel.cancel(key);
                } else {
                    expected.push(value);
                }
            }
            assert!(wheel.queue.len() < 15_000, "no sweep");
            assert_eq!(poll_limited(&mut wheel, deadline, limit), expected);
        }
    }
}

#[test]
fn an_open_bucket_is_swept_while_timers_join_it() {
    let mut wheel = wheel();
    (0..1_000).for_each(|value| _ = wheel.insert(at((1 << 12) + 70), value));
    // Opens the bucket and moves one chunk.
    assert!(wheel.poll_limited(at(1 << 13), 1).next().is_none());
    let mut most = 0;
    for value in 0..100_000 {
        let key = wheel.insert(at((1 << 12) + 90), value);
        wheel.cancel(key);
        most = most.max(wheel.queue.len());
    }
    assert!(most <= 2_600, "{most} items for 1,000 timers");
    assert!(wheel.poll(at(1 << 13)).eq(0..1_000));
}

#[test]
fn an_open_bucket_whose_timers_are_all_cancelled_is_closed() {
    for deadline in [(1 << 12) + 70, (1 << 40) + 5] {
        let mut wheel = wheel();
        let keys: Vec<_> = (0..1_000)
            .map(|value| wheel.insert(at(deadline), value))
            .collect();
        assert!(wheel.poll_limited(at(deadline), 1).next().is_none());
        keys.into_iter().for_each(|key| _ = wheel.cancel(key));
        // Each insertion sweeps a few steps.
        for value in 0..10_000 {
            let key = wheel.insert(at(deadline + 500 + value), value);
            wheel.cancel(key);
        }
        wheel.insert(at(deadline + 1), 1);
        wheel.insert(at(deadline), 0);
        assert_eq!(poll_limited(&mut wheel, deadline + 1, 10), [0, 1]);
    }
}
