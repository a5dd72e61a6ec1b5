//! Where attempts go, and what is counted.

use std::{future::pending, panic, task::Poll, time::Duration};

use futures::{FutureExt as _, poll};
use race_balance::{Balance, Load, NoEndpoints};
use race_core::{Race, test::VirtualClock};

const MS: Duration = Duration::from_millis(1);

fn balance<const N: usize>(clock: &VirtualClock) -> Balance<usize, VirtualClock> {
    Balance::timed_by(clock.clone(), 0..N).seed(1)
}

fn loads(balance: &Balance<usize, VirtualClock>) -> Vec<Load> {
    let mut loads = Vec::new();
    balance.inspect(|_, load| loads.push(load));
    loads
}

fn in_flight(balance: &Balance<usize, VirtualClock>) -> Vec<usize> {
    loads(balance).iter().map(|load| load.in_flight).collect()
}

fn latency(balance: &Balance<usize, VirtualClock>, endpoint: usize) -> Option<Duration> {
    loads(balance)[endpoint].latency
}

/// Makes an attempt at each endpoint, which takes this long.
fn learn(clock: &VirtualClock, balance: &Balance<usize, VirtualClock>, took: &[Duration]) {
    let targets = balance.targets();
    for _ in took {
        let attempt = targets.run(|endpoint| clock.sleep(took[endpoint]));
        clock.run(attempt).expect("it ends");
    }
}

/// Counts to which endpoints a thousand races send their first attempt.
fn firsts<const N: usize>(balance: &Balance<usize, VirtualClock>) -> [usize; N] {
    let mut counts = [0; N];
    for _ in 0..1_000 {
        let lease = balance.targets().pick();
        counts[*lease.endpoint()] += 1;
    }
    counts
}

#[test]
fn attempt_is_in_flight_until_it_ends_or_is_dropped() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let targets = balance.targets();
    let (lease, dropped) = (targets.pick(), targets.pick());
    assert_eq!(in_flight(&balance), [1, 1]);
    drop(dropped);
    assert_eq!(in_flight(&balance).iter().sum::<usize>(), 1);
    clock.run(lease.run(clock.sleep(MS))).unwrap();
    assert_eq!(in_flight(&balance), [0, 0]);
}

#[test]
fn resolved_future_is_not_in_flight() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock);
    let body = async {
        let mut attempt = Box::pin(balance.targets().run(|_| async { 7 }));
        assert_eq!(in_flight(&balance), [1]);
        assert_eq!(poll!(&mut attempt), Poll::Ready(7));
        assert_eq!(in_flight(&balance), [0]);
    };
    clock.run(body).unwrap();
}

#[test]
fn attempts_of_a_race_go_to_different_endpoints() {
    let clock = VirtualClock::new();
    let balance = balance::<5>(&clock);
    for _ in 0..100 {
        let targets = balance.targets();
        let leases: Vec<_> = (0..12).map(|_| targets.pick()).collect();
        let picked: Vec<_> = leases.iter().map(|lease| *lease.endpoint()).collect();
        let mut first = picked[..5].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3, 4]);
        assert!(
            picked.windows(2).all(|pair| pair[0] != pair[1]),
            "{picked:?}"
        );
    }
    assert_eq!(in_flight(&balance), [0; 5]);
}

#[test]
fn only_endpoint_gets_every_attempt() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock);
    let targets = balance.targets();
    let _leases = [targets.pick(), targets.pick(), targets.pick()];
    assert_eq!(in_flight(&balance), [3]);
}

#[test]
fn endpoints_without_latencies_are_chosen_by_attempts_in_flight() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let leases: Vec<_> = (0..100).map(|_| balance.targets().pick()).collect();
    assert_eq!(in_flight(&balance), [50, 50]);
    drop(leases);
}

#[test]
fn fast_endpoint_is_chosen_until_its_attempts_make_it_as_costly() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    learn(&clock, &balance, &[MS, 4 * MS]);
    assert_eq!(firsts(&balance), [1_000, 0]);
    let _leases: Vec<_> = (0..50).map(|_| balance.targets().pick()).collect();
    assert_eq!(in_flight(&balance), [40, 10]);
}

#[test]
fn two_choices_compare_two_random_endpoints() {
    let clock = VirtualClock::new();
    let balance = balance::<4>(&clock).choices(2);
    learn(&clock, &balance, &[MS, 2 * MS, 3 * MS, 4 * MS]);
    let [first, second, third, last] = firsts(&balance);
    // Of six pairs, the fastest is in three, and the slowest is never the better one.
    assert!((450..550).contains(&first), "{first}");
    assert!((280..390).contains(&second), "{second}");
    assert!((120..220).contains(&third), "{third}");
    assert_eq!(last, 0);
}

#[test]
fn longer_latency_counts_at_once_and_a_shorter_one_slowly() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock).decay(10 * MS);
    learn(&clock, &balance, &[4 * MS]);
    assert_eq!(latency(&balance, 0), Some(4 * MS));
    learn(&clock, &balance, &[10 * MS]);
    assert_eq!(latency(&balance, 0), Some(10 * MS));
    learn(&clock, &balance, &[MS]);
    // After 1 ms of a decay of 10 ms: 10 e^-0.1 + 1 - e^-0.1.
    let learnt = latency(&balance, 0).unwrap().as_secs_f64() * 1_000.0;
    assert!((learnt - 9.1435).abs() < 0.001, "{learnt}");
}

#[test]
fn cancelled_attempt_only_raises_the_latency() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock);
    let cancel_after = |time| {
        let lease = balance.targets().pick();
        clock.advance(time);
        drop(lease);
    };
    cancel_after(3 * MS);
    assert_eq!(latency(&balance, 0), None);
    learn(&clock, &balance, &[2 * MS]);
    cancel_after(MS);
    assert_eq!(latency(&balance, 0), Some(2 * MS));
    cancel_after(7 * MS);
    assert_eq!(latency(&balance, 0), Some(7 * MS));
}

/// Holds attempts so that the next one goes to this endpoint, if no latencies are known.
fn busy_but(
    balance: &Balance<usize, VirtualClock>,
    endpoint: usize,
) -> Vec<race_balance::Lease<usize, VirtualClock>> {
    let targets = balance.targets();
    let count = in_flight(balance).len();
    let all = (0..count).map(|_| targets.pick());
    all.filter(|lease| *lease.endpoint() != endpoint).collect()
}

#[test]
fn loser_of_a_race_raises_the_latency_of_its_endpoint() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    let busy = busy_but(&balance, 0);
    let run = async {
        let targets = balance.targets();
        let times = [100 * MS, 5 * MS];
        let attempt = |_| targets.run(|endpoint| clock.sleep(times[endpoint]));
        let race = Race::at(clock.timer())
            .from_fn(10 * MS, attempt)
            .max_attempts(2);
        race.first().await;
    };
    clock.run(run).unwrap();
    assert_eq!(in_flight(&balance), [0, 1]);
    assert_eq!(latency(&balance, 1), Some(5 * MS));
    // It was cancelled after 15 ms, which is more than twice the latency of the other.
    assert_eq!(latency(&balance, 0), None);
    assert_eq!(firsts(&balance), [0, 1_000]);
    drop(busy);
}

#[test]
fn attempt_that_panics_has_failed() {
    let clock = VirtualClock::new();
    let balance = balance::<1>(&clock).failure_penalty(20 * MS);
    let attempt = balance
        .targets()
        .run(|_| async { panic!("in the attempt") });
    let run = panic::catch_unwind(panic::AssertUnwindSafe(|| clock.run(attempt)));
    assert!(run.is_err());
    assert_eq!(latency(&balance, 0), Some(20 * MS));
    assert_eq!(in_flight(&balance), [0]);
}

#[test]
fn attempt_that_is_dropped_at_once_teaches_nothing() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock);
    drop(balance.targets().pick());
    drop(balance.targets().run(|_| pending::<()>()));
    let firsts: [usize; 2] = firsts(&balance);
    assert!((400..600).contains(&firsts[0]), "{firsts:?}");
}

#[test]
fn endpoint_that_fails_at_once_does_not_look_fast() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock).failure_penalty(20 * MS);
    let targets = balance.targets();
    for _ in 0..2 {
        let attempt = targets.try_run(async |endpoint| match endpoint {
            0 => Err("refused"),
            _ => {
                clock.sleep(10 * MS).await;
                Ok(())
            }
        });
        let _ = clock.run(attempt).unwrap();
    }
    assert_eq!(latency(&balance, 0), Some(20 * MS));
    assert_eq!(firsts(&balance), [0, 1_000]);
    // A failure that took longer counts as what it took.
    let lease = targets.pick();
    clock.advance(50 * MS);
    let endpoint = *lease.endpoint();
    lease.failed();
    assert_eq!(latency(&balance, endpoint), Some(50 * MS));
}

#[test]
fn slow_endpoint_is_tried_again_although_the_other_is_busy_and_fast() {
    let clock = VirtualClock::new();
    let balance = balance::<2>(&clock).decay(100 * MS);
    learn(&clock, &balance, &[50 * MS, MS]);
    assert_eq!(firsts(&balance), [0, 1_000]);
    let learnt = clock.elapsed();
    // The latency of the fast one stays fresh. That of the other is forgotten after 300 ms.
    let tried_again = (0..1_000).find(|_| {
        let lease = balance.targets().pick();
        let is_slow = *lease.endpoint() == 0;
        clock.advance(MS);
        if !is_slow {
            lease.succeeded();
        }
        is_slow
    });
    assert!(tried_again.is_some());
    let after = clock.elapsed() - learnt;
    assert!((299 * MS..320 * MS).contains(&after), "{after:?}");
}

#[test]
fn endpoint_whose_first_attempts_were_all_cancelled_is_tried_again() {
    for decay in [Duration::ZERO, 100 * MS] {
        let clock = VirtualClock::new();
        let balance = balance::<2>(&clock).decay(decay);
        let targets = balance.targets();
        let (one, other) = (targets.pick(), targets.pick());
        let slow = *other.endpoint();
        clock.advance(5 * MS);
        one.succeeded();
        clock.advance(500 * MS);
        drop(other);
        let cancelled = clock.elapsed();
        let tried_again = (0..1_000).find(|_| {
            let lease = balance.targets().pick();
            let is_slow = *lease.endpoint() == slow;
            clock.advance(5 * MS);
            lease.succeeded();
            is_slow
        });
        assert!(tried_again.is_some(), "{decay:?}");
        let after = clock.elapsed() - cancelled;
        assert!(after < 3 * decay + 100 * MS, "{decay:?}: {after:?}");
    }
}

#[test]
fn endpoint_that_is_given_again_is_dropped_without_a_lock() {
    /// Replaces the endpoints when it is dropped.
    struct Replacing(Option<Balance<Replacing, VirtualClock>>);

    impl PartialEq for Replacing {
        fn eq(&self, _: &Self) -> bool {
            true
        }
    }

    impl Drop for Replacing {
        fn drop(&mut self) {
            if let Some(balance) = self.0.take() {
                balance.replace([Replacing(None)]).unwrap();
            }
        }
    }

    let balance = Balance::timed_by(VirtualClock::new(), [Replacing(None)]);
    balance.replace([Replacing(Some(balance.clone()))]).unwrap();
}

#[test]
fn replace_keeps_the_statistics_of_the_endpoints_that_stay() {
    let clock = VirtualClock::new();
    let balance = balance::<3>(&clock);
    learn(&clock, &balance, &[MS, 2 * MS, 3 * MS]);
    let before = balance.targets();
    balance.replace([2, 7]).unwrap();
    let mut endpoints = Vec::new();
    balance.inspect(|endpoint, load| endpoints.push((*endpoint, load.latency)));
    assert_eq!(endpoints, [(2, Some(3 * MS)), (7, None)]);
    // A race that has begun goes on with what there was.
    let leases = [before.pick(), before.pick(), before.pick()];
    let mut picked = leases.each_ref().map(|lease| *lease.endpoint());
    picked.sort_unstable();
    assert_eq!(picked, [0, 1, 2]);
    assert_eq!(in_flight(&balance), [1, 0]);
    assert_eq!(balance.replace([]), Err(NoEndpoints));
    assert_eq!(in_flight(&balance), [1, 0]);
}

#[test]
fn balance_without_endpoints_is_refused() {
    let made = panic::catch_unwind(|| Balance::<usize>::new([]));
    let message = made.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(
        *message,
        "`Balance` has no endpoints: it needs at least one"
    );
}

#[tokio::test]
async fn attempts_can_be_spawned_and_boxed() {
    let balance = Balance::new(["one".to_owned(), "two".to_owned()]);
    let work = {
        let targets = balance.targets();
        async move {
            let attempt = move |_| targets.try_run(|host| async move { Ok::<_, ()>(host.len()) });
            let race = race_thread::Race::from_fn(10 * MS, attempt).max_attempts(2);
            race.first_ok().await.map(|won| won.output)
        }
    };
    assert_eq!(tokio::spawn(work.boxed()).await.unwrap().unwrap(), 3);
}

#[tokio::test]
async fn spawned_loser_is_in_flight_until_it_ends() {
    let balance = Balance::new(["one"]);
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let attempt = balance.targets().run(|_| receiver);
    let task = tokio::spawn(attempt);
    let count = |balance: &Balance<&str>| {
        let mut count = 0;
        balance.inspect(|_, load| count += load.in_flight);
        count
    };
    assert_eq!(count(&balance), 1);
    sender.send(()).unwrap();
    task.await.unwrap().unwrap();
    assert_eq!(count(&balance), 0);
}
