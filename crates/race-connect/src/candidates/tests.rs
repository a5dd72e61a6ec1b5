use std::{net::SocketAddr, time::Duration};

use proptest::prelude::*;
use race_core::Moment;

use super::{Candidates, Next};
use crate::Family;

fn at(millis: u64) -> Moment {
    Moment::from(Duration::from_millis(millis))
}

/// "6a" is an IPv6 address, "4b" an IPv4 address.
fn addresses(names: &str) -> Vec<SocketAddr> {
    names.split_whitespace().map(address).collect()
}

fn address(name: &str) -> SocketAddr {
    let (family, host) = name.split_at(1);
    let host = u16::from(host.as_bytes()[0]);
    let ip = match family {
        "6" => format!("[2001:db8::{host:x}]"),
        _ => format!("192.0.2.{host}"),
    };
    format!("{ip}:443").parse().unwrap()
}

fn candidates() -> Candidates {
    Candidates::new(Duration::from_millis(50))
}

/// Starts the next address, if there is one.
fn start(candidates: &mut Candidates, now: u64) -> Option<SocketAddr> {
    match candidates.next(at(now)) {
        Next::Start(address) => {
            candidates.started(address);
            Some(address)
        }
        _ => None,
    }
}

/// Starts addresses until it waits.
fn order(candidates: &mut Candidates, now: u64) -> Vec<SocketAddr> {
    std::iter::from_fn(|| start(candidates, now)).collect()
}

fn interleaved(resolved: &str, first_family_count: usize) -> Vec<SocketAddr> {
    let mut candidates = candidates().first_family_count(first_family_count);
    candidates.add(addresses(resolved), at(0));
    candidates.end(Family::V4);
    candidates.end(Family::V6);
    let order = order(&mut candidates, 0);
    assert_eq!(candidates.next(at(0)), Next::Over);
    order
}

#[test]
fn families_alternate_and_the_first_address_stays_first() {
    let cases = [
        ("6a 6b 4a 4b", 1, "6a 4a 6b 4b"),
        ("6a 6b 6c 4a", 1, "6a 4a 6b 6c"),
        ("4a 6a 4b", 1, "4a 6a 4b"),
        ("4a 6a", 1, "4a 6a"),
        ("4a 4b", 1, "4a 4b"),
        ("6a 6b", 1, "6a 6b"),
        ("", 1, ""),
        ("6a 6b 6c 4a", 2, "6a 6b 4a 6c"),
        ("6a 6b 6c 4a 4b", 0, "6a 4a 6b 4b 6c"),
        ("6a 4a 4b 4c", 5, "6a 4a 4b 4c"),
    ];
    for (resolved, count, expected) in cases {
        assert_eq!(
            interleaved(resolved, count),
            addresses(expected),
            "{resolved} {count}"
        );
    }
}

#[test]
fn preferred_family_comes_first_whatever_the_resolver_says() {
    let mut candidates = candidates().prefer(Some(Family::V6));
    candidates.add(addresses("4a 6a 4b"), at(0));
    assert_eq!(order(&mut candidates, 0), addresses("6a 4a 4b"));
}

#[test]
fn first_v6_answer_starts_at_once() {
    let mut candidates = candidates();
    assert_eq!(candidates.next(at(0)), Next::Wait);
    candidates.add(addresses("6a 6b"), at(7));
    assert_eq!(order(&mut candidates, 7), addresses("6a 6b"));
    assert_eq!(candidates.next(at(7)), Next::Wait, "for A");
    candidates.end(Family::V6);
    candidates.end(Family::V4);
    assert_eq!(candidates.next(at(7)), Next::Over);
}

#[test]
fn first_v4_answer_waits_for_v6_at_most_the_resolution_delay() {
    let mut candidates = candidates();
    candidates.add(addresses("4a"), at(100));
    assert_eq!(candidates.next(at(100)), Next::Until(at(150)));
    candidates.add(addresses("4b"), at(140)); // does not extend it
    assert_eq!(candidates.next(at(149)), Next::Until(at(150)));
    assert_eq!(order(&mut candidates, 150), addresses("4a 4b"));
}

#[test]
fn v6_answer_within_the_resolution_delay_comes_first() {
    let mut candidates = candidates();
    candidates.add(addresses("4a 4b"), at(100));
    candidates.add(addresses("6a 6b"), at(149));
    assert_eq!(order(&mut candidates, 149), addresses("6a 4a 6b 4b"));
}

#[test]
fn negative_v6_answer_ends_the_resolution_delay() {
    let mut candidates = candidates();
    candidates.add(addresses("4a"), at(100));
    candidates.end(Family::V6);
    assert_eq!(order(&mut candidates, 101), addresses("4a"));
}

#[test]
fn remembered_v4_waits_for_v4() {
    let mut candidates = candidates().prefer(Some(Family::V4));
    candidates.add(addresses("6a"), at(0));
    assert_eq!(candidates.next(at(0)), Next::Until(at(50)));
    candidates.add(addresses("4a"), at(20));
    assert_eq!(order(&mut candidates, 20), addresses("4a 6a"));
}

#[test]
fn late_addresses_are_inserted_in_turn() {
    let mut candidates = candidates();
    candidates.add(addresses("4a 4b 4c"), at(0));
    assert_eq!(start(&mut candidates, 50), Some(address("4a")));
    candidates.add(addresses("6a"), at(60));
    assert_eq!(order(&mut candidates, 60), addresses("6a 4b 4c"));
    candidates.add(addresses("4a 6a 6b"), at(70));
    assert_eq!(
        order(&mut candidates, 70),
        addresses("6b"),
        "the others are known"
    );
}

#[test]
fn address_that_waits_for_its_start_gives_way_to_a_better_one() {
    let mut candidates = candidates();
    candidates.add(addresses("4a 4b"), at(0));
    assert_eq!(start(&mut candidates, 50), Some(address("4a")));
    assert_eq!(candidates.next(at(50)), Next::Start(address("4b")));
    candidates.add(addresses("6a 6b"), at(60));
    assert_eq!(order(&mut candidates, 300), addresses("6a 4b 6b"));
}

#[test]
fn first_family_count_does_not_apply_to_a_family_that_is_first_because_the_other_is_late() {
    let mut candidates = candidates().first_family_count(2);
    candidates.add(addresses("4a 4b 4c"), at(0));
    assert_eq!(start(&mut candidates, 50), Some(address("4a")));
    candidates.add(addresses("6a"), at(60));
    assert_eq!(order(&mut candidates, 300), addresses("6a 4b 4c"));
}

#[test]
fn withdrawn_addresses_are_taken_out() {
    let mut candidates = candidates();
    candidates.add(addresses("6a 6b 6c"), at(0));
    assert_eq!(start(&mut candidates, 0), Some(address("6a")));
    candidates.withdraw(address("6b"));
    assert_eq!(candidates.next(at(0)), Next::Start(address("6c")));
    candidates.withdraw(address("6c"));
    assert_eq!(candidates.next(at(0)), Next::Wait);
    candidates.add(addresses("6c"), at(0));
    assert_eq!(order(&mut candidates, 0), addresses("6c"));
}

#[test]
fn address_that_is_withdrawn_and_added_again_before_its_start_starts_once() {
    for first in ["6a", "6a 6b"] {
        let mut candidates = candidates();
        candidates.add(addresses(first), at(0));
        let last = *addresses(first).last().unwrap();
        while candidates.next(at(0)) != Next::Start(last) {
            start(&mut candidates, 0);
        }
        candidates.withdraw(last);
        candidates.add([last], at(5));
        assert_eq!(order(&mut candidates, 9), [last]);
    }
}

#[test]
fn withdrawn_first_address_leaves_the_resolution_delay_to_the_other_family() {
    let mut candidates = candidates();
    candidates.add(addresses("6a"), at(0));
    candidates.add(addresses("4a"), at(10));
    candidates.withdraw(address("6a"));
    assert_eq!(candidates.next(at(20)), Next::Until(at(50)));
}

#[test]
fn address_that_does_not_wait_takes_no_turn_and_is_known() {
    let mut candidates = candidates().first_family_count(2);
    candidates.add(addresses("6a 6b 6c 4a"), at(0));
    for _ in 0..3 {
        candidates.started(address("6a"));
    }
    candidates.started(address("4b"));
    candidates.add(addresses("4b"), at(0));
    assert_eq!(order(&mut candidates, 0), addresses("6b 4a 6c"));
}

#[test]
fn address_in_both_of_its_forms_is_one() {
    let mapped: SocketAddr = "[::ffff:192.0.2.97]:443".parse().unwrap();
    for (first, second) in [(mapped, address("4a")), (address("4a"), mapped)] {
        let mut candidates = candidates().prefer(Some(Family::V4));
        candidates.add([first, second], at(0));
        assert_eq!(order(&mut candidates, 0), [first]);
        candidates.add([second], at(1));
        assert_eq!(order(&mut candidates, 1), []);
        candidates.withdraw(second);
        candidates.add([second], at(2));
        candidates.withdraw(first);
        assert_eq!(order(&mut candidates, 2), []);
    }
}

#[test]
fn mapped_addresses_are_of_the_family_that_they_reach() {
    let mapped: SocketAddr = "[::ffff:192.0.2.1]:443".parse().unwrap();
    assert_eq!(Family::of(&mapped), Family::V4);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever arrives or is withdrawn, also while an address waits for its start: every address
    /// that is not withdrawn starts once, and two of a family start in a row only if the other has
    /// none, or within the count of the preferred one.
    #[test]
    fn random_answers_start_once_and_alternate(
        steps in prop::collection::vec((0..6u8, any::<bool>(), 0..12u8), 1..60),
        count in 0..4usize,
        prefer in prop::option::of(any::<bool>()),
    ) {
        let prefer = prefer.map(|v6| if v6 { Family::V6 } else { Family::V4 });
        let mut candidates = candidates().first_family_count(count).prefer(prefer);
        let (mut waiting, mut started): (Vec<SocketAddr>, Vec<SocketAddr>) = (vec![], vec![]);
        let mut families: Vec<Family> = vec![];
        for (now, (what, is_v6, host)) in (0..).zip(steps) {
            let name = format!("{}{}", if is_v6 { 6 } else { 4 }, char::from(b'a' + host));
            let one = address(&name);
            // Time passes, so that no Resolution Delay is left.
            let now = now * 1_000;
            match what {
                0 | 1 => {
                    candidates.add([one], at(now));
                    if !waiting.contains(&one) && !started.contains(&one) {
                        waiting.push(one);
                    }
                }
                2 => {
                    candidates.withdraw(one);
                    waiting.retain(|it| *it != one);
                    started.retain(|it| *it != one);
                }
                3 => {
                    // Only looks.
                    let next = candidates.next(at(now));
                    prop_assert_eq!(next, candidates.next(at(now)));
                }
                _ => {
                    let has = |family| waiting.iter().any(|it| Family::of(it) == family);
                    let both = has(Family::V4) && has(Family::V6);
                    let Some(address) = start(&mut candidates, now + 999) else {
                        prop_assert!(waiting.is_empty(), "{waiting:?}");
                        continue;
                    };
                    prop_assert!(waiting.contains(&address), "{address} twice, or withdrawn");
                    waiting.retain(|it| *it != address);
                    let family = Family::of(&address);
                    let same = families.last() == Some(&family);
                    let in_count = families.len() < count
                        && family == prefer.unwrap_or(Family::V6);
                    prop_assert!(!(same && both) || in_count);
                    families.push(family);
                    started.push(address);
                }
            }
        }
    }
}
