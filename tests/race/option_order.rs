//! Options give the same race in any order.

use std::{cell::Cell, time::Duration};

use race::{
    Backoff, Budget, OnFailure, RaceOptions,
    core::Race,
    observe::{Event, EventKind, Refusal},
    policy::Permit,
};

use crate::{
    probe::ms,
    scenario::{Candidate, Ended, HANGS, Scenario},
};

/// Each option changes this race.
const CANDIDATES: [Candidate; 8] = [
    (HANGS, Ok("")),
    (HANGS, Ok("")),
    (5, Err("E2")),
    (HANGS, Ok("")),
    (7, Err("E4")),
    (HANGS, Ok("")),
    (HANGS, Ok("")),
    (HANGS, Ok("")),
];

/// What is compared: the result, all events, the balance, and the questions to the gate.
type Seen = (Ended, Vec<Event>, usize, Vec<(usize, Duration)>);

/// Applies the options in the given order, then runs the race.
macro_rules! run {
    ($($option:ident)*) => {{
        let (scenario, budget) = (Scenario::new(), Budget::percent(0).reserve(2));
        let asked = Cell::new(Vec::new());
        let attempts = scenario.attempts(CANDIDATES);
        let race = Race::at(scenario.clock.timer()).of(ms(50), attempts);
        $(let race = run!(@ race, scenario, budget, asked, $option);)*
        let ended = scenario.run(race.first_ok());
        (ended, scenario.events(), budget.balance(), asked.into_inner())
    }};
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, gate) => {
        $race.gate(|state| {
            let mut all = $asked.take();
            all.push((state.index, state.elapsed()));
            let permit = if all.len() == 2 { Permit::NotNow } else { Permit::Start };
            $asked.set(all);
            permit
        })
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, budget) => {
        $race.budget(&$budget)
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, on_event) => {
        $race.on_event($scenario.record())
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, attempt_timeout) => {
        $race.attempt_timeout(ms(170))
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, deadline) => {
        $race.deadline(ms(600))
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, max_in_flight) => {
        $race.max_in_flight(2)
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, max_attempts) => {
        $race.max_attempts(6)
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, min_gap) => {
        $race.min_gap(ms(60))
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, backoff) => {
        $race.backoff(Backoff::new(ms(30)))
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, on_failure) => {
        $race.on_failure(OnFailure::Any)
    };
    (@ $race:ident, $scenario:ident, $budget:ident, $asked:ident, $options:ident) => {
        $race.options(&$options)
    };
}

/// The limits above as a value.
const LIMITS: RaceOptions = RaceOptions::new()
    .attempt_timeout(ms(170))
    .deadline(ms(600))
    .max_in_flight(2)
    .max_attempts(6)
    .min_gap(ms(60))
    .on_failure(OnFailure::Any);

#[test]
fn options_can_be_given_in_any_order() {
    let orders: [Seen; 6] = [
        run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure),
        run!(on_failure backoff min_gap max_attempts max_in_flight deadline attempt_timeout on_event budget gate),
        run!(backoff gate min_gap budget max_attempts on_event on_failure deadline max_in_flight attempt_timeout),
        run!(on_event deadline backoff max_in_flight gate on_failure attempt_timeout min_gap max_attempts budget),
        run!(budget max_attempts attempt_timeout gate max_in_flight on_event deadline on_failure backoff min_gap),
        run!(max_in_flight on_failure budget backoff attempt_timeout max_attempts gate deadline min_gap on_event),
    ];
    for order in &orders[1..] {
        assert_eq!(order, &orders[0]);
    }
}

/// Otherwise the test above would compare races in which the options do nothing.
#[test]
fn each_option_changes_this_race() {
    let all = run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure);
    let refusals = [Refusal::Gate, Refusal::Budget, Refusal::MaxInFlight];
    for kind in [EventKind::TimedOut, EventKind::Failed, EventKind::Cancelled]
        .into_iter()
        .chain(refusals.map(EventKind::Refused))
    {
        assert!(all.1.iter().any(|event| event.kind == kind), "{kind}");
    }
    let without: [Seen; 10] = [
        run!(budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure),
        run!(gate on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure),
        run!(gate budget attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure),
        run!(gate budget on_event deadline max_in_flight max_attempts min_gap backoff on_failure),
        run!(gate budget on_event attempt_timeout max_in_flight max_attempts min_gap backoff on_failure),
        run!(gate budget on_event attempt_timeout deadline max_attempts min_gap backoff on_failure),
        run!(gate budget on_event attempt_timeout deadline max_in_flight min_gap backoff on_failure),
        run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts backoff on_failure),
        run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap on_failure),
        run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff),
    ];
    for (option, seen) in without.iter().enumerate() {
        assert_ne!(seen, &all, "option {option}");
    }
}

#[test]
fn limits_as_a_value_equal_the_setters_in_any_order() {
    let setters = run!(gate budget on_event attempt_timeout deadline max_in_flight max_attempts min_gap backoff on_failure);
    let values: [Seen; 4] = [
        run!(LIMITS gate budget on_event backoff),
        run!(gate budget LIMITS on_event backoff),
        run!(backoff on_event budget gate LIMITS),
        run!(backoff LIMITS on_event LIMITS budget gate),
    ];
    for value in &values {
        assert_eq!(value, &setters);
    }
}

#[test]
fn limits_that_are_not_set_leave_those_of_the_race() {
    let all = run!(gate budget on_event backoff LIMITS);
    macro_rules! check {
        ($($limit:ident)*) => {$(
            let mut without = LIMITS;
            without.$limit = None;
            let seen: Seen = run!(gate budget on_event backoff without);
            assert_ne!(seen, all, concat!(stringify!($limit), " has its default"));
            assert_eq!(run!(gate budget on_event backoff without $limit), all);
            assert_eq!(run!(gate budget on_event backoff $limit without), all);
        )*};
    }
    check!(attempt_timeout deadline max_in_flight max_attempts min_gap on_failure);
    let nothing = RaceOptions::new();
    assert_eq!(run!(gate budget on_event backoff LIMITS nothing), all);
}

#[test]
fn last_of_a_value_and_a_setter_wins() {
    let others = RaceOptions::new()
        .attempt_timeout(ms(90))
        .deadline(ms(250))
        .max_in_flight(1)
        .max_attempts(3)
        .min_gap(ms(20))
        .on_failure(OnFailure::Wait);
    let (limits, other) = (
        run!(gate budget on_event backoff LIMITS),
        run!(gate budget on_event backoff others),
    );
    assert_ne!(limits, other);
    let setters_last = run!(gate budget on_event backoff others attempt_timeout deadline max_in_flight max_attempts min_gap on_failure);
    assert_eq!(setters_last, limits);
    let value_last = run!(gate budget on_event backoff attempt_timeout deadline max_in_flight max_attempts min_gap on_failure others);
    assert_eq!(value_last, other);
}
