//! What answers say about their servers.

use std::time::Duration;

use race_balance::Balanced;
use race_core::Verdict;
use race_tower::{FnRules, GenericHedgeLayer, Rules};

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
