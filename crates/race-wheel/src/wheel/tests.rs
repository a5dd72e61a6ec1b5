//! The contract of a wheel, one statement per test. Times are milliseconds.

use alloc::rc::Rc;
use std::vec::Vec;

use crate::{Key, Tick, Wheel};

fn at(millis: u64) -> Tick {
    Tick::new(1_000_000 * millis)
}

fn nanos(nanos: u64) -> Tick {
    Tick::new(nanos)
}

fn wheel() -> Wheel<u64> {
    Wheel::new(1_000_000)
}

fn poll(wheel: &mut Wheel<u64>, millis: u64) -> Vec<u64> {
    wheel.poll(at(millis)).collect()
}

#[test]
fn a_timer_expires_at_its_deadline_and_not_before() {
    let mut wheel = wheel();
    wheel.insert(at(5), 1);
    assert_eq!(poll(&mut wheel, 4), []);
    assert!(wheel.poll(nanos(4_999_999)).next().is_none());
    assert_eq!(poll(&mut wheel, 5), [1]);
    assert_eq!((poll(&mut wheel, 9), wheel.len()), ([].into(), 0));
}

#[test]
fn a_deadline_is_rounded_up_to_the_resolution() {
    let mut wheel = wheel();
    wheel.insert(nanos(4_000_001), 2);
    wheel.insert(nanos(3_999_999), 1);
    assert_eq!(wheel.next_deadline(), Some(at(4)));
    assert_eq!(poll(&mut wheel, 4), [1]);
    assert_eq!(wheel.next_deadline(), Some(at(5)));
    assert_eq!(poll(&mut wheel, 5), [2]);
}

#[test]
fn equal_deadlines_expire_in_order_of_insertion() {
    let mut wheel = wheel();
    for value in 0..300 {
        wheel.insert(at(70_000), value);
    }
    assert!(wheel.poll(at(70_000)).eq(0..300));
}

#[test]
fn a_deadline_in_the_past_expires_first_at_the_next_poll() {
    let mut wheel = wheel();
    wheel.insert(at(100), 0);
    assert_eq!(poll(&mut wheel, 100), [0]);
    for (millis, value) in [(101, 4), (50, 2), (100, 3), (50, 2), (7, 1)] {
        wheel.insert(at(millis), value);
    }
    assert_eq!(wheel.next_deadline(), Some(at(7)));
    assert_eq!(poll(&mut wheel, 100), [1, 2, 2, 3]);
    assert_eq!(poll(&mut wheel, 101), [4]);
}

#[test]
fn values_that_were_not_taken_come_at_the_next_poll() {
    let mut wheel = wheel();
    for value in 1..=5 {
        wheel.insert(at(10 * value), value);
    }
    assert_eq!(wheel.poll(at(50)).next(), Some(1));
    wheel.insert(at(30), 33);
    wheel.insert(at(5), 0);
    assert_eq!(wheel.len(), 6);
    assert_eq!(wheel.poll(at(50)).take(3).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(poll(&mut wheel, 50), [33, 4, 5]);
}

#[test]
fn time_does_not_go_backwards() {
    let mut wheel = wheel();
    assert_eq!(poll(&mut wheel, 100), []);
    wheel.insert(at(90), 1);
    assert_eq!(poll(&mut wheel, 10), [1]);
}

#[test]
fn a_cancelled_timer_returns_its_value_and_does_not_expire() {
    let mut wheel = wheel();
    let keys: Vec<_> = (0..200)
        .map(|value| wheel.insert(at(value), value))
        .collect();
    let odd = keys.iter().skip(1).step_by(2);
    assert!(
        odd.map(|key| wheel.cancel(*key).unwrap())
            .eq((1..200).step_by(2))
    );
    assert_eq!(wheel.len(), 100);
    assert!(wheel.poll(at(200)).eq((0..200).step_by(2)));
}

#[test]
fn a_rescheduled_timer_has_a_new_key_and_is_ordered_as_inserted_again() {
    let mut wheel = wheel();
    let old = wheel.insert(at(10), 1);
    wheel.insert(at(20), 2);
    let new = wheel.reschedule(old, at(20)).unwrap();
    assert_eq!((wheel.get(old), wheel.get(new)), (None, Some(&1)));
    assert_eq!(wheel.reschedule(old, at(1)), None);
    assert_eq!(poll(&mut wheel, 10), []);
    *wheel.get_mut(new).unwrap() += 2;
    assert_eq!(poll(&mut wheel, 20), [2, 3]);
}

#[test]
fn no_timer_of_a_large_bucket_is_lost_when_indices_are_reused() {
    let mut wheel = wheel();
    for round in 1..4 {
        let scattered = |value: u64| at(round * 20_000_000 + value * 7_919 % 10_000_000);
        let keys: Vec<_> = (0..20_000)
            .map(|value| wheel.insert(scattered(value), value))
            .collect();
        let renewed = keys.iter().enumerate().map(|(value, key)| match value % 4 {
            0 => wheel.cancel(*key).is_some(),
            1 => wheel
                .reschedule(*key, scattered(value as u64 + round))
                .is_some(),
            _ => true,
        });
        assert_eq!(renewed.filter(|done| *done).count(), 20_000);
        let mut expired = poll(&mut wheel, round * 20_000_000 + 10_000_000);
        expired.sort_unstable();
        assert!(
            expired
                .into_iter()
                .eq((0..20_000).filter(|value| value % 4 != 0))
        );
        // One that stays, so that the table is not released.
        wheel.insert(Tick::NEVER, 0);
    }
}

#[test]
fn stale_keys_return_none_forever() {
    let mut wheel = wheel();
    let mut stale: Vec<Key> = Vec::new();
    for round in 0..300 {
        let (first, second) = (wheel.insert(at(round), 1), wheel.insert(at(round), 2));
        assert!(stale.iter().all(|key| ![first, second].contains(key)));
        wheel.cancel(first);
        if round % 3 == 0 {
            wheel.clear();
        }
        wheel.poll(at(round)).for_each(drop);
        stale.extend([first, second]);
        wheel.insert(at(round + 9), 3);
        for key in &stale {
            assert_eq!(wheel.get(*key), None);
            assert_eq!(wheel.get_mut(*key), None);
            assert_eq!(wheel.cancel(*key), None);
            assert_eq!(wheel.reschedule(*key, at(0)), None);
        }
    }
}

#[test]
fn a_deadline_of_never_does_not_expire() {
    for resolution in [0, 1, 3, 5, 1_000_000, u64::MAX] {
        let mut wheel = Wheel::new(resolution);
        let key = wheel.insert(Tick::NEVER, 1);
        assert_eq!(wheel.next_deadline(), None);
        assert_eq!(wheel.poll(Tick::NEVER).next(), None);
        wheel.insert(Tick::ZERO, 2);
        assert_eq!(wheel.poll(Tick::NEVER).next(), Some(2));
        wheel.insert(Tick::NEVER, 3);
        assert_eq!(wheel.poll(Tick::NEVER).next(), None);
        assert_eq!((wheel.cancel(key), wheel.len()), (Some(1), 1));
    }
}

#[test]
fn the_first_and_last_ticks_do_not_overflow() {
    let mut wheel = Wheel::new(0);
    wheel.insert(nanos(u64::MAX - 1), 2);
    wheel.insert(nanos(1), 1);
    assert_eq!(wheel.next_deadline(), Some(nanos(1)));
    assert_eq!(wheel.poll(nanos(u64::MAX - 2)).collect::<Vec<_>>(), [1]);
    assert_eq!(wheel.poll(Tick::NEVER).collect::<Vec<_>>(), [2]);
    let mut coarse = Wheel::new(u64::MAX);
    coarse.insert(nanos(1), 1);
    assert_eq!(coarse.next_deadline(), None);
}

#[test]
fn the_next_deadline_is_exact_and_skips_empty_time() {
    let mut wheel = wheel();
    let year = 365 * 86_400_000;
    for millis in [1, 64, 4_095, 4_096, 300_000, year, 10 * year] {
        wheel.insert(at(millis), millis);
    }
    for millis in [1, 64, 4_095, 4_096, 300_000, year, 10 * year] {
        assert_eq!(wheel.next_deadline(), Some(at(millis)));
        assert_eq!(poll(&mut wheel, millis), [millis]);
    }
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn polling_corrects_the_next_deadline_of_a_cancelled_timer() {
    let mut wheel = wheel();
    let first = wheel.insert(at(5), 1);
    wheel.insert(at(9_000), 2);
    wheel.cancel(first);
    let mut polls = 0;
    while let Some(deadline) = wheel.next_deadline() {
        assert!(deadline <= at(9_000));
        wheel.poll(deadline).for_each(drop);
        polls += 1;
    }
    assert!(wheel.is_empty() && polls <= 2);
}

#[test]
fn clearing_drops_all_values_and_keeps_the_time() {
    let (mut wheel, value) = (Wheel::new(1_000_000), Rc::new(()));
    wheel.poll(at(1_000)).for_each(drop);
    for millis in [1, 1_001, 10_000_000_000_000] {
        wheel.insert(at(millis), value.clone());
    }
    assert_eq!(wheel.iter().count(), 3);
    wheel.clear();
    assert_eq!((Rc::strong_count(&value), wheel.next_deadline()), (1, None));
    wheel.insert(at(1_000), value);
    assert_eq!(wheel.poll(Tick::ZERO).count(), 1);
}

#[test]
fn iteration_returns_armed_timers() {
    let mut wheel = wheel();
    let keys: Vec<_> = (0..5).map(|value| wheel.insert(at(value), value)).collect();
    wheel.cancel(keys[2]);
    let left: Vec<_> = wheel.iter().map(|(key, value)| (key, *value)).collect();
    assert_eq!(
        left,
        [0, 1, 3, 4].map(|value| (keys[value as usize], value))
    );
}

#[test]
fn a_limited_poll_returns_values_in_order_and_keeps_the_rest() {
    let mut wheel = wheel();
    for value in 0..1_000 {
        wheel.insert(at(1_000 - value % 10), value);
    }
    assert_eq!(wheel.poll_limited(at(1_000), 0).next(), None);
    let mut values = Vec::new();
    while wheel.next_deadline().is_some_and(|it| it <= at(1_000)) {
        let before = wheel.len();
        values.extend(wheel.poll_limited(at(1_000), 100).take(30));
        assert!(before - wheel.len() <= 30);
    }
    let mut expected: Vec<u64> = (0..1_000).collect();
    expected.sort_by_key(|value| 1_000 - value % 10);
    assert_eq!(values, expected);
}

#[test]
fn taking_moves_all_timers_and_makes_their_keys_stale() {
    let mut wheel = wheel();
    wheel.poll(at(100)).for_each(drop);
    let key = wheel.insert(at(200), 1);
    wheel.insert(at(300), 2);
    let mut taken = wheel.take();
    assert_eq!(
        (wheel.len(), wheel.capacity(), wheel.next_deadline()),
        (0, 0, None)
    );
    assert_eq!((wheel.get(key), taken.get(key)), (None, Some(&1)));
    let new = wheel.insert(at(200), 3);
    assert!(new != key && wheel.cancel(key).is_none());
    assert_eq!(poll(&mut taken, 300), [1, 2]);
    // The time is kept.
    assert_eq!(wheel.poll(Tick::ZERO).next(), None);
    assert_eq!(poll(&mut wheel, 200), [3]);
}
