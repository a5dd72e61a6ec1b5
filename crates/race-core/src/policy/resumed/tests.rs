use core::time::Duration;
use std::{sync::Mutex, vec::Vec};

use crate::{
    Adaptive, Budget, Race,
    observe::{Cause, Counters, EventKind},
    test::VirtualClock,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn attempt_zero_of_a_resumed_race_pays_nothing_in_and_is_not_observed() {
    let (clock, events) = (VirtualClock::new(), Mutex::new(Vec::new()));
    let (budget, counters) = (Budget::percent(100), Counters::new());
    let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .budget(&budget)
        .observer(&counters)
        .on_event(|event| events.lock().unwrap().push((event.index, event.kind)))
        .resumed();
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!(
        (won.index, won.elapsed),
        (0, ms(100)),
        "there is no deposit"
    );
    assert_eq!(budget.balance(), 0);
    assert_eq!(events.into_inner().unwrap().len(), 1, "the refusal");
    let counts = counters.counts();
    assert_eq!((counts.races, counts.refused_by_budget), (0, 1));
}

#[test]
fn hedges_of_a_resumed_race_are_charged_and_observed() {
    let (clock, events) = (VirtualClock::new(), Mutex::new(Vec::new()));
    let budget = Budget::percent(0).reserve(1);
    let attempts = [100, 20, 5].map(|latency| clock.sleep(ms(latency)));
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .budget(&budget)
        .on_event(|event| {
            let mut events = events.lock().unwrap();
            events.push((event.index, event.cause, event.ran, event.kind));
        })
        .resumed();
    assert_eq!(clock.run(race.first()).unwrap().unwrap().index, 1);
    assert_eq!(budget.balance(), 0);
    let events = events.into_inner().unwrap();
    let seen = |ran: u64, kind| (1, Cause::Delay, ms(ran), kind);
    let expected = [seen(0, EventKind::Started), seen(20, EventKind::Won)];
    assert_eq!(events, expected);
}

#[test]
fn running_attempts_of_a_resumed_race_do_not_include_attempt_zero() {
    let clock = VirtualClock::new();
    let budget = Budget::in_flight(50).reserve(1);
    let attempts = [100, 80].map(|latency| clock.sleep(ms(latency)));
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .budget(&budget)
        .resumed();
    let mut first = std::pin::pin!(race.first());
    let waits = async {
        let mut late = std::pin::pin!(clock.sleep(ms(60)));
        std::future::poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            late.as_mut().poll(cx)
        })
        .await;
    };
    clock.run(waits).unwrap();
    assert_eq!(budget.balance(), 0, "the hedge is running");
    clock.run(first).unwrap();
    assert_eq!(budget.balance(), 1);
}

#[test]
fn adaptive_delay_learns_of_the_hedges_of_a_resumed_race_only() {
    let clock = VirtualClock::new();
    let adaptive = Adaptive::extra_load(5.0).initial(ms(50)).without_budget();
    let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
    let race = Race::at(clock.timer()).of(&adaptive, attempts).resumed();
    assert_eq!(clock.run(race.first()).unwrap().unwrap().index, 1);
    assert_eq!(adaptive.samples(), 1);
}
