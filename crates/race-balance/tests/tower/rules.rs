//! What answers say about their servers.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use race_balance::{Balance, Balanced, Slot};
use race_core::{Verdict, test::VirtualClock};
use race_tower::{Beginning, FnRules, GenericHedgeLayer, Rules};
use tower::{ServiceExt as _, service_fn};

use crate::server::{MS, World, ask};

/// The rules of a service whose answers are the numbers of servers: those of the first one are
/// errors. Each of the servers that `busy` names asks for a pause.
fn rules(
    busy: impl Fn(usize) -> Option<Duration> + Clone + 'static,
) -> impl Rules<&'static str, usize, &'static str> + Clone {
    FnRules::new(
        |request: &&'static str| Some(*request),
        move |answer: &Result<usize, &'static str>| match *answer {
            Ok(server) => match busy(server) {
                Some(Duration::ZERO) => Verdict::Retryable,
                Some(pause) => Verdict::NotBefore(pause),
                None => Verdict::Accept,
            },
            Err(_) => Verdict::Retryable,
        },
    )
}

#[test]
fn answer_that_the_rules_call_a_failure_counts_as_one() {
    let world = World::<2>::new(5 * MS);
    world.state(0).latency = Duration::ZERO;
    let rules = rules(|server| (server == 0).then_some(Duration::ZERO));
    let balanced = Balanced::new(world.balance.clone()).rules(rules);
    let mut service = GenericHedgeLayer::with_timer(world.clock.timer(), 50 * MS)
        .rules(balanced.layer_rules())
        .over(balanced);
    for _ in 0..100 {
        assert_eq!(ask(&world.clock, &mut service).unwrap(), 1);
    }
    let [failing, good] = world.calls();
    assert!(failing <= 2 && good == 100, "{failing} {good}");
}

#[test]
fn server_that_asks_for_a_pause_is_left_out_and_the_request_goes_on() {
    let world = World::<2>::new(5 * MS);
    let rules = rules(|server| (server == 0).then_some(10_000 * MS));
    let balanced = Balanced::new(world.balance.clone()).rules(rules);
    let mut service = GenericHedgeLayer::with_timer(world.clock.timer(), 50 * MS)
        .rules(balanced.layer_rules())
        .over(balanced);
    for _ in 0..20 {
        assert_eq!(ask(&world.clock, &mut service).unwrap(), 1);
    }
    assert_eq!(world.calls(), [1, 20]);
    assert_eq!(world.clock.elapsed(), 105 * MS);
}

#[test]
fn request_waits_for_the_shortest_pause_if_all_servers_ask_for_one() {
    let world = World::<2>::new(5 * MS);
    let clock = world.clock.clone();
    let rules = rules(move |server| {
        let pause = [300 * MS, 700 * MS][server];
        (clock.elapsed() < 100 * MS).then_some(pause)
    });
    let balanced = Balanced::new(world.balance.clone()).rules(rules);
    let mut service = GenericHedgeLayer::with_timer(world.clock.timer(), 10_000 * MS)
        .max_attempts(3)
        .rules(balanced.layer_rules())
        .over(balanced);
    assert_eq!(ask(&world.clock, &mut service).unwrap(), 0);
    let calls = world.state(0).calls.clone();
    // Its pause ends 300 ms after its answer.
    assert_eq!(calls[1], calls[0] + 305 * MS);
    assert_eq!(world.calls(), [2, 1]);
}

/// Sends each request twice, and notes in it how much time its attempt has.
#[derive(Clone)]
struct Noting;

impl Rules<Noted, usize, &'static str> for Noting {
    fn repeat(&self, request: &Noted) -> Option<Noted> {
        Some(request.clone())
    }

    fn poll_repeat(&self, request: &mut Noted, _: &mut Context<'_>) -> Poll<bool> {
        request.polls += 1;
        Poll::Ready(true)
    }

    fn begin(&self, request: &mut Noted, beginning: &mut Beginning<'_>) {
        request.time_left = beginning.time_left();
    }
}

#[derive(Clone, Default)]
struct Noted {
    polls: usize,
    time_left: Option<Duration>,
}

#[test]
fn layer_rules_forward_all_that_their_rules_do() {
    let clock = VirtualClock::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let connect = |server| {
        let (clock, seen) = (clock.clone(), seen.clone());
        Slot::new(
            server,
            service_fn(move |request: Noted| {
                let mut seen = seen.lock().unwrap();
                seen.push((request.polls, request.time_left));
                let slow = clock.sleep(100 * MS);
                async move {
                    slow.await;
                    Ok::<_, &'static str>(server)
                }
            }),
        )
    };
    let balance = Balance::timed_by(clock.clone(), [0, 1].map(connect));
    let balanced = Balanced::new(balance).rules(Noting);
    let service = GenericHedgeLayer::with_timer(clock.timer(), 50 * MS)
        .deadline(300 * MS)
        .rules(balanced.layer_rules())
        .over(balanced);
    clock
        .run(service.oneshot(Noted::default()))
        .unwrap()
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [(1, Some(300 * MS)), (2, Some(250 * MS))]);
}
