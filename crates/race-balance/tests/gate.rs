//! Where there is room for hedges, if losers run on.

use std::{cell::RefCell, future::pending, time::Duration};

use fastrand::Rng;
use race_balance::{Balance, Lease, Targets};
use race_core::{Race, RaceError, Won, observe::Cause, policy::Permit, test::VirtualClock};

const MS: Duration = Duration::from_millis(1);

type Servers = Balance<usize, VirtualClock>;

fn in_flight(balance: &Servers) -> Vec<usize> {
    let mut counts = Vec::new();
    balance.inspect(|_, load| counts.push(load.in_flight));
    counts
}

/// Endpoints that remember latencies forever.
fn endpoints(clock: &VirtualClock, count: usize) -> Servers {
    let balance = Balance::timed_by(clock.clone(), 0..count).seed(1);
    balance.decay(Duration::from_secs(1_000_000))
}

/// Races up to three attempts that never end, for 100 ms, and returns when they started.
fn started(clock: &VirtualClock, targets: &Targets<usize, VirtualClock>, fails: bool) -> Vec<u128> {
    let starts = RefCell::new(Vec::new());
    let began = clock.elapsed();
    let run = async {
        let attempt = |index| {
            starts
                .borrow_mut()
                .push((clock.elapsed() - began).as_millis());
            targets.try_run(move |_| async move {
                match fails && index == 0 {
                    true => Err(()),
                    false => pending().await,
                }
            })
        };
        let race = Race::at(clock.timer())
            .from_fn(40 * MS, attempt)
            .max_attempts(3)
            .gate(targets.gate())
            .deadline(100 * MS);
        let lost: Result<Won<usize, ()>, RaceError<usize, ()>> = race.first_ok().await;
        assert!(lost.is_err());
    };
    clock.run(run).expect("its deadline passes");
    starts.into_inner()
}

/// Holds this many attempts at each endpoint. Only the first endpoint is fast.
fn busy(
    clock: &VirtualClock,
    balance: &Servers,
    counts: &[usize],
) -> Vec<Lease<usize, VirtualClock>> {
    let targets = balance.targets();
    for _ in counts {
        let attempt = targets.run(|endpoint| match endpoint {
            0 => clock.sleep(MS),
            _ => clock.sleep(1_000_000 * MS),
        });
        clock.run(attempt).expect("it ends");
    }
    let mut busy = Vec::new();
    while in_flight(balance) != counts {
        let targets = balance.targets();
        let leases: Vec<_> = counts.iter().map(|_| targets.pick()).collect();
        for lease in leases {
            let endpoint = *lease.endpoint();
            if in_flight(balance)[endpoint] <= counts[endpoint] {
                busy.push(lease);
            }
        }
    }
    busy
}

#[test]
fn gate_lets_a_hedge_go_only_where_at_most_a_tenth_is_in_flight() {
    let clock = VirtualClock::new();
    // With the first attempt, there is one more at the first endpoint.
    for (counts, starts) in [
        ([0, 0], vec![0, 40]),
        ([0, 1], vec![0]),
        ([8, 1], vec![0]),
        ([9, 1], vec![0, 40]),
        ([18, 2], vec![0]),
        ([19, 2], vec![0, 40]),
    ] {
        let balance = endpoints(&clock, 2);
        let _busy = busy(&clock, &balance, &counts);
        assert_eq!(
            started(&clock, &balance.targets(), false),
            starts,
            "{counts:?}"
        );
    }
}

#[test]
fn gate_compares_with_the_first_endpoint_also_when_attempts_go_round() {
    let clock = VirtualClock::new();
    let balance = endpoints(&clock, 2);
    // The third attempt would go to the first endpoint, which has more than a tenth.
    let _busy = busy(&clock, &balance, &[20, 0]);
    assert_eq!(started(&clock, &balance.targets(), false), [0, 40]);
}

#[test]
fn gate_compares_with_the_endpoint_of_the_first_attempt_not_of_the_last() {
    let clock = VirtualClock::new();
    let balance = endpoints(&clock, 3);
    let _busy = busy(&clock, &balance, &[29, 2, 2]);
    assert_eq!(started(&clock, &balance.targets(), false), [0, 40, 80]);
}

#[test]
fn attempt_after_a_failure_does_not_go_where_an_earlier_hedge_would_have_gone() {
    for seed in 0..20 {
        let clock = VirtualClock::new();
        let balance = Balance::timed_by(clock.clone(), 0..3).seed(seed);
        let targets = balance.targets();
        let begun = RefCell::new(Vec::new());
        let busy = RefCell::new(Vec::new());
        let attempt = |index| {
            targets.try_run(|endpoint| {
                begun.borrow_mut().push(endpoint);
                let latency = clock.sleep(50 * MS);
                async move {
                    latency.await;
                    (index > 0).then_some(()).ok_or(())
                }
            })
        };
        let mut gate = targets.gate();
        let race = Race::at(clock.timer())
            .from_fn(40 * MS, attempt)
            .max_attempts(2)
            .gate(|race| match (gate(race), race.cause) {
                (planned, Cause::Delay) => {
                    assert_eq!(planned, Permit::Start);
                    // One of the other two becomes busy.
                    let other = (begun.borrow()[0] + 1) % 3;
                    for _ in 0..5 {
                        let targets = balance.targets();
                        let mut leases = (0..3).map(|_| targets.pick());
                        busy.borrow_mut()
                            .extend(leases.find(|lease| *lease.endpoint() == other));
                    }
                    Permit::NotNow
                }
                (permit, _) => permit,
            });
        assert!(clock.run(race.first_ok()).unwrap().is_ok());
        let begun = begun.into_inner();
        assert_eq!(begun[1], (begun[0] + 2) % 3, "seed {seed}");
    }
}

/// With any number of endpoints, and attempts in flight at them.
#[test]
fn gate_lets_a_hedge_start_if_and_only_if_another_endpoint_has_room() {
    let mut rng = Rng::with_seed(1);
    let (mut started, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let clock = VirtualClock::new();
        let count = rng.usize(1..6);
        // Random choices keep them from being equally busy.
        let balance = Balance::timed_by(clock.clone(), 0..count)
            .choices(rng.usize(1..3))
            .seed(rng.u64(..));
        let mut busy = Vec::new();
        for _ in 0..rng.usize(0..60) {
            let targets = balance.targets();
            let leases: Vec<_> = (0..rng.usize(1..4)).map(|_| targets.pick()).collect();
            clock.advance(rng.u32(0..20) * MS);
            for lease in leases {
                match rng.u8(0..4) {
                    0 => lease.succeeded(),
                    _ => busy.push(lease),
                }
            }
        }
        let mut counts = vec![0; count];
        busy.iter().for_each(|lease| counts[*lease.endpoint()] += 1);

        let targets = balance.targets();
        let endpoints = RefCell::new(Vec::new());
        let attempt = |_| {
            targets.run(|endpoint| {
                endpoints.borrow_mut().push(endpoint);
                pending::<()>()
            })
        };
        let race = Race::at(clock.timer())
            .from_fn(40 * MS, attempt)
            .max_attempts(2)
            .gate(targets.gate())
            .deadline(60 * MS);
        assert!(clock.run(race.first()).unwrap().is_none());

        let endpoints = endpoints.into_inner();
        let most = (counts[endpoints[0]] + 1) / 10;
        let has_room = |endpoint: &usize| *endpoint != endpoints[0] && counts[*endpoint] <= most;
        match endpoints[..] {
            [_, second] => assert!(has_room(&second), "{counts:?}, {endpoints:?}"),
            _ => assert!(
                !(0..count).any(|it| has_room(&it)),
                "{counts:?}, {endpoints:?}"
            ),
        }
        match endpoints.len() {
            1 => refused += 1,
            _ => started += 1,
        }
    }
    assert!(started > 100 && refused > 100, "{started}, {refused}");
}

#[test]
fn gate_does_not_delay_an_attempt_after_a_failure() {
    let clock = VirtualClock::new();
    let balance = endpoints(&clock, 2);
    let _busy: Vec<_> = (0..10).map(|_| balance.targets().pick()).collect();
    assert_eq!(started(&clock, &balance.targets(), true), [0, 0]);
}
