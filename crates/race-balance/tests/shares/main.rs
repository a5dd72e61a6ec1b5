//! Which share of the requests each server gets, over minutes of virtual time.

mod traffic;

use std::time::Duration;

use race_core::Verdict;
use traffic::{Traffic, share};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const OK: Verdict = Verdict::Accept;
const FAILED: Verdict = Verdict::Retryable;

#[test]
fn server_that_fails_at_once_gets_less_than_its_share() {
    for (per_second, latency) in [(50, 500 * MS), (500, 100 * MS), (500, 5 * MS)] {
        for seed in 0..5 {
            let mut traffic = Traffic::new(4, seed);
            let counts = traffic.send(per_second, 60 * SECOND, |server| match server {
                0 => (Duration::ZERO, FAILED),
                _ => (latency, OK),
            });
            let failing = share(&counts, 0);
            assert!(failing <= 2.0, "{latency:?}, seed {seed}: {failing} %");
        }
    }
}

#[test]
fn server_that_was_down_for_a_second_has_its_share_again_after_one_decay() {
    for seed in 0..5 {
        let mut traffic = Traffic::new(3, seed);
        traffic.send(50, 60 * SECOND, |_| (5 * MS, OK));
        traffic.send(50, SECOND, |server| match server {
            0 => (Duration::ZERO, FAILED),
            _ => (5 * MS, OK),
        });
        let shares: Vec<_> = (0..8)
            .map(|_| share(&traffic.send(50, 10 * SECOND, |_| (5 * MS, OK)), 0))
            .collect();
        assert!(shares[0] < 10.0, "seed {seed}: {shares:?}");
        for share in &shares[1..] {
            assert!((25.0..42.0).contains(share), "seed {seed}: {shares:?}");
        }
    }
}

#[test]
fn ejected_server_gets_no_requests_and_its_share_after_the_trial() {
    let mut traffic = Traffic::new(4, 1);
    traffic.send(50, 10 * SECOND, |_| (500 * MS, OK));
    traffic.send(50, 5 * SECOND, |server| match server {
        0 => (Duration::ZERO, FAILED),
        _ => (500 * MS, OK),
    });
    let is_ejected = |traffic: &Traffic| {
        let mut ejected = Vec::new();
        traffic
            .balance
            .inspect(|_, load| ejected.push(load.is_ejected));
        ejected
    };
    assert_eq!(is_ejected(&traffic), [true, false, false, false]);
    let counts = traffic.send(50, 20 * SECOND, |_| (500 * MS, OK));
    assert_eq!(counts[0], 0);
    traffic.send(50, 11 * SECOND, |_| (500 * MS, OK));
    assert_eq!(is_ejected(&traffic), [false; 4]);
    let counts = traffic.send(50, 10 * SECOND, |_| (500 * MS, OK));
    let share = share(&counts, 0);
    assert!((20.0..30.0).contains(&share), "{share}");
}

#[test]
fn fatal_answers_move_no_requests_to_the_slow_server() {
    for every in [1_000, 200] {
        for seed in 0..5 {
            let counts = |verdict: Verdict| {
                let mut traffic = Traffic::new(2, seed);
                let mut request = 0;
                traffic.send(50, 100 * SECOND, |server| {
                    request += 1;
                    let latency = [5 * MS, 100 * MS][server];
                    match request % every {
                        0 => (latency, verdict),
                        _ => (latency, OK),
                    }
                })
            };
            let [without, with] = [OK, Verdict::Fatal].map(counts);
            assert_eq!(without, with, "one of {every}, seed {seed}");
            // The slow one is tried again each time that its latency is forgotten.
            assert!(share(&with, 1) < 0.5, "one of {every}: {with:?}");
        }
    }
}

#[test]
fn slow_server_gets_nothing_while_the_fast_one_is_idle() {
    for is_failing in [false, true] {
        for seed in 0..5 {
            let mut traffic = Traffic::new(3, seed);
            let counts = traffic.send(50, 120 * SECOND, |server| match server {
                0 => (5 * MS, OK),
                1 => (100 * MS, OK),
                _ if is_failing => (Duration::ZERO, FAILED),
                _ => (3 * SECOND, FAILED),
            });
            let (slow, down) = (share(&counts, 1), share(&counts, 2));
            assert!(slow < 0.5 && down < 0.5, "seed {seed}: {counts:?}");
        }
    }
}

#[test]
fn equal_servers_get_equal_shares_whatever_their_number() {
    for servers in [2, 3, 8, 12] {
        let mut traffic = Traffic::new(servers, 1);
        let counts = traffic.send(100, 100 * SECOND, |_| (5 * MS, OK));
        let fair = 10_000 / servers as u32;
        for count in &counts {
            assert!((fair * 3 / 4..fair * 5 / 4).contains(count), "{counts:?}");
        }
    }
}
