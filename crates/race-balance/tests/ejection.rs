//! Endpoints that are out of rotation, and where attempts go meanwhile.

use std::time::Duration;

use race_balance::{Balance, Ejection, Lease, Load};
use race_core::{Race, Verdict, test::VirtualClock};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

type Servers = Balance<usize, VirtualClock>;

fn balance<const N: usize>(clock: &VirtualClock) -> Servers {
    Balance::timed_by(clock.clone(), 0..N).seed(1)
}

fn loads(balance: &Servers) -> Vec<Load> {
    let mut loads = Vec::new();
    balance.inspect(|_, load| loads.push(load));
    loads
}

fn ejected(balance: &Servers) -> Vec<bool> {
    loads(balance).iter().map(|load| load.is_ejected).collect()
}

fn pushed_back(balance: &Servers) -> Vec<bool> {
    let loads = loads(balance);
    loads.iter().map(|load| load.is_pushed_back).collect()
}

/// Begins an attempt at one endpoint.
fn attempt(balance: &Servers, endpoint: usize) -> Lease<usize, VirtualClock> {
    let targets = balance.targets();
    let mut attempts = (0..100).map(|_| targets.pick());
    let attempt = attempts.find(|lease| *lease.endpoint() == endpoint);
    attempt.expect("attempts go round")
}

/// Lets this number of attempts at one endpoint fail. They begin together, before it is ejected.
fn fail(balance: &Servers, endpoint: usize, times: usize) {
    let attempts: Vec<_> = (0..times).map(|_| attempt(balance, endpoint)).collect();
    attempts.into_iter().for_each(Lease::failed);
}

/// Counts to which endpoints a hundred requests go that are in flight together.
fn firsts<const N: usize>(balance: &Servers) -> [usize; N] {
    let mut counts = [0; N];
    let leases: Vec<_> = (0..100).map(|_| balance.targets().pick()).collect();
    leases
        .iter()
        .for_each(|lease| counts[*lease.endpoint()] += 1);
    counts
}

#[test]
fn endpoint_is_ejected_after_five_failures_in_a_row() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    fail(&balance, 1, 4);
    attempt(&balance, 1).succeeded();
    fail(&balance, 1, 4);
    assert_eq!(ejected(&balance), [false; 3]);
    fail(&balance, 1, 1);
    assert_eq!(ejected(&balance), [false, true, false]);
    let [one, out, other] = firsts(&balance);
    assert_eq!((one, out, other), (50, 0, 50));
}

#[test]
fn ejection_can_be_set_and_turned_off() {
    let clock = VirtualClock::new();
    let ejection = Ejection::after(2).first(SECOND).longest(3 * SECOND / 2);
    let eager = balance::<3>(&clock).ejection(ejection);
    fail(&eager, 0, 2);
    assert_eq!(ejected(&eager), [true, false, false]);
    clock.advance(SECOND);
    let trial = eager.targets().pick();
    assert_eq!(*trial.endpoint(), 0);
    trial.failed();
    clock.advance(3 * SECOND / 2 - MS);
    assert_ne!(*eager.targets().pick().endpoint(), 0);
    clock.advance(MS);
    assert_eq!(*eager.targets().pick().endpoint(), 0);

    let never = balance::<3>(&clock).ejection(Ejection::never());
    fail(&never, 0, 100);
    assert_eq!(ejected(&never), [false; 3]);
}

#[test]
fn cancelled_attempt_is_neither_a_success_nor_a_failure() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    fail(&balance, 0, 4);
    for _ in 0..10 {
        drop(attempt(&balance, 0));
    }
    assert_eq!(ejected(&balance), [false; 3]);
    fail(&balance, 0, 1);
    assert_eq!(ejected(&balance), [true, false, false]);
}

#[test]
fn one_request_at_a_time_is_the_trial_until_one_succeeds() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    fail(&balance, 0, 5);
    clock.advance(30 * SECOND);
    let trial = balance.targets().pick();
    assert_eq!(*trial.endpoint(), 0);
    assert_eq!(firsts(&balance), [0, 50, 50]);
    // A cancelled trial frees the place. The next one goes there when it is its turn.
    drop(trial);
    let [again, ..] = firsts::<3>(&balance);
    assert_eq!(again, 1);
    assert_eq!(ejected(&balance), [true, false, false]);
    let trial = attempt(&balance, 0);
    trial.failed();
    clock.advance(60 * SECOND - MS);
    assert_eq!(firsts(&balance), [0, 50, 50]);
    clock.advance(MS);
    let trial = balance.targets().pick();
    assert_eq!(*trial.endpoint(), 0);
    clock.advance(MS);
    trial.succeeded();
    assert_eq!(ejected(&balance), [false; 3]);
    assert!(firsts::<3>(&balance)[0] > 20);
}

#[test]
fn at_most_half_are_ejected_and_with_more_that_fail_all_are_used() {
    for (count, most) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)] {
        let clock = VirtualClock::new();
        let balance = Balance::timed_by(clock.clone(), 0..count).seed(1);
        // As many attempts at each, which begin before any of them has failed.
        let mut attempts: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        for _ in 0..5 {
            let targets = balance.targets();
            for lease in (0..count).map(|_| targets.pick()) {
                attempts[*lease.endpoint()].push(lease);
            }
        }
        let mut failing = 0;
        for leases in attempts {
            leases.into_iter().for_each(Lease::failed);
            failing += 1;
            let ejected = ejected(&balance).iter().filter(|it| **it).count();
            let expected = if failing <= most { failing } else { 0 };
            assert_eq!(ejected, expected, "{failing} of {count}");
        }
        let counts = firsts::<5>(&balance);
        let fair = 100 / count;
        assert!(counts[..count].iter().all(|it| *it >= fair), "{counts:?}");
    }
}

#[test]
fn race_goes_again_to_an_endpoint_in_rotation_rather_than_to_an_ejected_one() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    fail(&balance, 0, 5);
    let targets = balance.targets();
    let leases = [targets.pick(), targets.pick(), targets.pick()];
    assert_eq!(leases.each_ref().map(|lease| *lease.endpoint()), [1; 3]);
}

#[test]
fn race_goes_to_an_ejected_endpoint_if_the_others_ask_for_a_pause() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    fail(&balance, 0, 5);
    attempt(&balance, 1).judged(Verdict::NotBefore(20 * SECOND));
    attempt(&balance, 2).judged(Verdict::NotBefore(10 * SECOND));
    let targets = balance.targets();
    let leases = [targets.pick(), targets.pick()];
    assert_eq!(leases.each_ref().map(|lease| *lease.endpoint()), [0; 2]);
}

#[test]
fn hedge_does_not_go_to_an_ejected_endpoint_by_the_gate() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    fail(&balance, 0, 5);
    let targets = balance.targets();
    let mut starts = 0;
    let attempt = |_| {
        starts += 1;
        targets.run(|_| clock.sleep(SECOND))
    };
    let race = Race::at(clock.timer())
        .from_fn(10 * MS, attempt)
        .max_attempts(2)
        .gate(targets.gate());
    assert!(clock.run(race.first()).unwrap().is_some());
    assert_eq!(starts, 1);
}

#[test]
fn endpoint_that_stays_is_still_ejected_after_a_replacement() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    fail(&balance, 0, 5);
    balance.replace([0, 7, 8]).unwrap();
    assert_eq!(ejected(&balance), [true, false, false]);
}

#[test]
fn endpoint_that_asks_for_a_pause_gets_nothing_until_it_ends() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    let before = attempt(&balance, 0);
    attempt(&balance, 0).judged(Verdict::NotBefore(10 * SECOND));
    assert_eq!(pushed_back(&balance), [true, false, false]);
    // An attempt that began before says nothing about the pause.
    before.succeeded();
    clock.advance(10 * SECOND - MS);
    assert_eq!(firsts(&balance), [0, 50, 50]);
    clock.advance(MS);
    assert_eq!(pushed_back(&balance), [false; 3]);
    assert!(firsts::<3>(&balance)[0] > 0);
}

#[test]
fn later_success_ends_a_pause() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock);
    attempt(&balance, 0).judged(Verdict::NotBefore(10 * SECOND));
    assert_eq!(pushed_back(&balance), [true]);
    attempt(&balance, 0).succeeded();
    assert_eq!(pushed_back(&balance), [false]);
}

#[test]
fn if_all_ask_for_a_pause_the_shortest_one_is_chosen() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    for (endpoint, seconds) in [(0, 30), (1, 10), (2, 20)] {
        attempt(&balance, endpoint).judged(Verdict::NotBefore(seconds * SECOND));
    }
    assert_eq!(*balance.targets().pick().endpoint(), 1);
}
