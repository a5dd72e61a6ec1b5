//! What a gate is asked, and what its answers do.

use std::time::Duration;

use futures::stream::FusedStream as _;
use race::{
    Budget, OnFailure, Steps,
    observe::{Cause, EventKind, Refusal},
    policy::Permit,
};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario, errors, won},
};

#[test]
fn gate_receives_the_state_of_the_race() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let candidates = [
        (50, Err("E0")),
        (5, Err("E1")),
        (100, Ok("2")),
        (9, Ok("3")),
    ];
    let race = scenario.race(ms(10), candidates).gate(|state| {
        let elapsed = state.elapsed().as_millis();
        asked.push((
            state.index,
            state.running,
            state.failed,
            state.cause,
            elapsed,
        ));
        state.index < 3
    });
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 115));
    assert_eq!(
        asked,
        [
            (1, 1, 0, Cause::Delay, 10),
            (2, 1, 1, Cause::Failure, 15),
            (3, 2, 1, Cause::Delay, 25)
        ]
    );
    assert_eq!(scenario.refused(Refusal::Gate), [(3, 25)]);
}

#[test]
fn gate_is_asked_again_after_failure() {
    let scenario = Scenario::new();
    let candidates = [(50, Err("E0")), (5, Ok("1"))];
    let race = scenario.race(ms(10), candidates);
    let race = race.gate(|state| state.failed > 0);
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 55));
}

#[test]
fn gate_is_asked_again_when_nothing_is_running_and_the_race_ends_if_it_still_refuses() {
    for rule in [
        OnFailure::Wait,
        OnFailure::IfLatest,
        OnFailure::IfIdle,
        OnFailure::Any,
    ] {
        let (scenario, mut asked) = (Scenario::new(), 0);
        let race = scenario.race(ms(10), [(50, Err("E0")), (0, Ok("1"))]);
        let race = race.gate(|_| {
            asked += 1;
            false
        });
        let error = scenario.run(race.on_failure(rule).first_ok()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the attempt failed, and further ones were refused by the gate: #0: E0"
        );
        assert_eq!(scenario.millis(), 50, "{rule:?}");
        assert_eq!(asked, if rule == OnFailure::Wait { 1 } else { 2 });
    }
}

#[test]
fn stream_ends_when_the_gate_allows_no_more() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(50, Ok("0")), (0, Ok("1"))]);
    let mut race = race.gate(|_| false);
    assert_eq!(scenario.run(race.next()), Some((0, Ok("0"))));
    assert_eq!(scenario.run(race.next()), None);
    assert!(race.is_terminated());
}

#[test]
fn not_now_is_asked_again_one_delay_later() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let race = scenario.race(ms(10), [(HANGS, Ok("0")), (5, Ok("1"))]);
    let race = race.gate(|state| {
        asked.push(state.elapsed().as_millis());
        match asked.len() {
            3 => Permit::Start,
            _ => Permit::NotNow,
        }
    });
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 35));
    assert_eq!(asked, [10, 20, 30]);
    assert_eq!(scenario.refused(Refusal::Gate), [(1, 10)]); // reported once
}

#[test]
fn failure_asks_a_gate_that_answered_not_now_at_once() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let race = scenario.race(ms(10), [(14, Err("E0")), (5, Ok("1"))]);
    let race = race.gate(|state| {
        asked.push((state.elapsed().as_millis(), state.cause));
        match state.cause {
            Cause::Failure => Permit::Start,
            _ => Permit::NotNow,
        }
    });
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 19));
    assert_eq!(asked, [(10, Cause::Delay), (14, Cause::Failure)]);
}

#[test]
fn not_now_with_nothing_running_is_asked_again_at_the_next_delay() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let race = scenario.race(ms(10), [(4, Err("E0")), (5, Ok("1"))]);
    let race = race.gate(|state| {
        asked.push((state.elapsed().as_millis(), state.running));
        match asked.len() {
            4 => Permit::Start,
            _ => Permit::NotNow,
        }
    });
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 39));
    assert_eq!(asked, [(4, 0), (14, 0), (24, 0), (34, 0)]);
}

#[test]
fn not_now_without_a_next_delay_ends_the_race() {
    for delay in [Duration::ZERO, Duration::MAX] {
        let scenario = Scenario::new();
        let race = scenario.race(Steps::new([delay]), [(4, Err("E0")), (5, Ok("1"))]);
        let ended = scenario.run(race.gate(|_| Permit::NotNow).first_ok());
        assert_eq!(errors(ended), ["E0"]);
        assert_eq!(scenario.millis(), 4, "{delay:?}");
    }
}

#[test]
fn each_of_two_gates_must_permit_the_start() {
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let (scenario, mut asked) = (Scenario::new(), 0);
        let race = scenario.race(ms(10), [(30, Ok("0")), (5, Ok("1"))]);
        let race = race.gate(|_| first).gate(|_| {
            asked += 1;
            second
        });
        let index = usize::from(first && second);
        assert_eq!(won(&scenario.run(race.first_ok())).0, index);
        assert_eq!(asked, usize::from(first)); // the second is asked only if the first permits
    }
}

#[test]
fn gate_is_asked_before_the_budget_is_charged() {
    for gate_first in [true, false] {
        let scenario = Scenario::new();
        let budget = Budget::percent(0).reserve(1);
        let race = scenario.race(ms(10), [(30, Ok("0")), (5, Ok("1"))]);
        let ended = match gate_first {
            true => scenario.run(race.gate(|_| false).budget(&budget).first_ok()),
            false => scenario.run(race.budget(&budget).gate(|_| false).first_ok()),
        };
        assert_eq!((won(&ended), budget.balance()), ((0, 30), 1));
        assert_eq!(scenario.refused(Refusal::Gate), [(1, 10)]);
        assert_eq!(scenario.count(EventKind::Refused(Refusal::Budget)), 0);
    }
}

/// At 20 the gate defers attempt 2, at 25 it refuses it after a failure, and at 40 nothing is
/// running.
#[test]
fn gate_that_deferred_and_then_refused_is_asked_when_nothing_is_running() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let candidates = [(40, Ok("0")), (15, Err("E1")), (5, Ok("2"))];
    let race = scenario.race(ms(10), candidates).gate(|state| {
        asked.push((state.elapsed().as_millis(), state.cause));
        match asked.len() {
            2 => Permit::NotNow,
            3 => Permit::Stop,
            _ => Permit::Start,
        }
    });
    assert_eq!(scenario.run(race.quorum(2)).unwrap()[1].index, 2);
    assert_eq!(
        asked,
        [
            (10, Cause::Delay),
            (20, Cause::Delay),
            (25, Cause::Failure),
            (40, Cause::Idle)
        ]
    );
}

#[test]
fn not_now_with_nothing_running_is_not_asked_before_the_next_delay() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let race = scenario.race(ms(10), [(4, Err("E0")), (5, Ok("1"))]);
    let race = race.gate(|state| {
        asked.push(state.elapsed().as_millis());
        match asked.len() {
            2 => Permit::Start,
            _ => Permit::NotNow,
        }
    });
    let mut first = race.first_ok();
    let ended = scenario.run(async {
        for _ in 0..4 {
            assert!(futures::poll!(&mut first).is_pending());
            scenario.clock.advance(ms(3)); // polled at 0, 3, 6 and 9
        }
        first.await
    });
    assert_eq!((won(&ended), asked), ((1, 21), vec![6, 16]));
}
