//! What a budget charges, and what is free.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures::{future::join_all, poll};
use race::{
    Backoff, Budget, InlineRace, OnFailure, Steps,
    core::Race,
    observe::{Cause, Refusal},
    policy::IntoBudget,
    test::VirtualClock,
};

use crate::{
    probe::ms,
    scenario::{Candidate, HANGS, Scenario, errors, won},
};

#[test]
fn failover_from_a_replica_that_is_down_is_free() {
    let budget = Budget::percent(5).reserve(0);
    for _ in 0..1_000 {
        let scenario = Scenario::new();
        let race = scenario.race(ms(50), [(1, Err("down")), (20, Ok("healthy"))]);
        let ended = scenario.run(race.budget(&budget).first_ok());
        assert_eq!(won(&ended), (1, 21));
        assert_eq!(scenario.causes(), [(Cause::First, 0), (Cause::Failure, 1)]);
    }
    assert_eq!(budget.balance(), 50); // each race deposited, and none withdrew
}

#[test]
fn failover_is_charged_if_asked_for() {
    let budget = Budget::percent(0).charge_failover();
    let scenario = Scenario::new();
    let race = scenario.race(ms(50), [(1, Err("down")), (20, Ok("healthy"))]);
    let error = scenario.run(race.budget(&budget).first_ok()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the attempt failed, and further ones were refused by the budget: #0: down"
    );
    assert_eq!(scenario.millis(), 1);
    assert_eq!(scenario.refused(Refusal::Budget), [(1, 1)]);

    let budget = Budget::percent(0).reserve(1).charge_failover();
    let race = scenario.race(ms(50), [(1, Err("down")), (20, Ok("healthy"))]);
    scenario.run(race.budget(&budget).first_ok()).unwrap();
    assert_eq!(budget.balance(), 0);
}

#[test]
fn hedge_is_charged_and_refused_if_the_budget_is_used_up() {
    let budget = Budget::percent(0).reserve(1);
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(35, Ok("0")), (HANGS, Ok("")), (0, Ok("2"))]);
    let ended = scenario.run(race.budget(&budget).first_ok());
    assert_eq!((won(&ended), budget.balance()), ((0, 35), 0));
    assert_eq!(scenario.causes(), [(Cause::First, 0), (Cause::Delay, 10)]);
    assert_eq!(scenario.refused(Refusal::Budget), [(2, 20)]);
}

/// The failure at 40 calls for a start at 45. The delay ends at 50, and the race is polled at 60.
#[test]
fn budget_is_taken_by_reference_in_an_arc_and_in_an_option() {
    /// Returns how many hedges the race of two started.
    fn hedges(budget: impl IntoBudget) -> usize {
        let scenario = Scenario::new();
        let race = scenario.race(ms(10), [(35, Ok("0")), (HANGS, Ok(""))]);
        scenario.run(race.budget(budget).first_ok()).unwrap();
        scenario.causes().len() - 1
    }
    let used_up = Arc::new(Budget::percent(0));
    assert_eq!(hedges(&*used_up), 0);
    assert_eq!(hedges(&used_up), 0);
    assert_eq!(hedges(used_up.clone()), 0);
    assert_eq!(hedges(Some(&*used_up)), 0);
    assert_eq!(hedges(Some(&used_up)), 0);
    assert_eq!(hedges(Some(used_up.clone())), 0);
    let [some, none] = [Some(used_up), None];
    assert_eq!((hedges(&some), hedges(&none)), (0, 1));
    assert_eq!(hedges(None::<&Budget>), 1);
    let shared = Arc::new(Budget::percent(0).reserve(1));
    assert_eq!(hedges(&shared), 1);
}

#[test]
fn start_after_backoff_is_free_if_the_delay_passes_meanwhile() {
    let budget = Budget::percent(0);
    let scenario = Scenario::new();
    let candidates = [(40, Err("E0")), (0, Ok("1"))];
    let race = scenario
        .race(ms(50), candidates)
        .backoff(Backoff::new(ms(5)));
    let mut first = race.budget(&budget).first_ok();
    let ended = scenario.run(async {
        for _ in 0..2 {
            assert!(poll!(&mut first).is_pending());
            scenario.clock.advance(ms(40) - scenario.clock.elapsed());
        }
        assert!(poll!(&mut first).is_pending());
        scenario.clock.advance(ms(20));
        first.await
    });
    assert_eq!(won(&ended), (1, 60));
    assert_eq!(scenario.causes()[1], (Cause::Failure, 60));
}

/// The failure at 55 calls for a start at 60. The delay ends at 100, and the race is polled at 120.
#[test]
fn start_after_min_gap_is_free_if_the_delay_passes_meanwhile() {
    let budget = Budget::percent(0).reserve(1);
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (5, Err("E1")), (0, Ok("2"))];
    let race = scenario.race(ms(50), candidates).min_gap(ms(10));
    let mut first = race.budget(&budget).first_ok();
    let ended = scenario.run(async {
        for at in [50, 55, 120] {
            assert!(poll!(&mut first).is_pending());
            scenario.clock.advance(ms(at) - scenario.clock.elapsed());
        }
        first.await
    });
    assert_eq!((won(&ended), budget.balance()), ((2, 120), 0));
    let causes = [(Cause::First, 0), (Cause::Delay, 50), (Cause::Failure, 120)];
    assert_eq!(scenario.causes(), causes);
}

#[test]
fn start_with_nothing_running_is_free() {
    let budget = Budget::percent(0);
    let scenario = Scenario::new();
    let race = scenario.race(ms(50), [(10, Err("E0")), (5, Ok("1"))]);
    let race = race.budget(&budget).on_failure(OnFailure::Wait);
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 55));
    assert_eq!(scenario.causes(), [(Cause::First, 0), (Cause::Idle, 50)]);
}

/// A stream does not tell success from failure, so it starts by time.
#[test]
fn start_of_a_stream_with_nothing_running_is_free() {
    let budget = Budget::percent(0);
    let scenario = Scenario::new();
    let candidates = [(10, Ok("0")), (5, Ok("1"))];
    let mut race = scenario.race(ms(50), candidates).budget(&budget);
    assert_eq!(scenario.run(race.next()), Some((0, Ok("0"))));
    assert_eq!(scenario.run(race.next()), Some((1, Ok("1"))));
    assert_eq!(scenario.causes(), [(Cause::First, 0), (Cause::Idle, 50)]);
}

#[test]
fn refused_hedge_is_started_when_nothing_is_running() {
    let budget = Budget::percent(0);
    for rule in [OnFailure::IfLatest, OnFailure::IfIdle, OnFailure::Any] {
        let scenario = Scenario::new();
        let race = scenario.race(ms(10), [(30, Err("E0")), (5, Ok("1"))]);
        let race = race.budget(&budget).on_failure(rule);
        assert_eq!(won(&scenario.run(race.first_ok())), (1, 35));
        assert_eq!(scenario.refused(Refusal::Budget), [(1, 10)]);
    }
}

#[test]
fn start_by_time_with_wait_is_charged_while_another_is_running() {
    for (reserve, winner) in [(0, (0, 100)), (1, (1, 55))] {
        let budget = Budget::percent(0).reserve(reserve);
        let scenario = Scenario::new();
        let race = scenario.race(ms(50), [(100, Ok("0")), (5, Ok("1"))]);
        let race = race.budget(&budget).on_failure(OnFailure::Wait);
        assert_eq!(won(&scenario.run(race.first_ok())), winner);
        assert_eq!(budget.balance(), 0);
    }
}

#[test]
fn first_k_of_a_quorum_are_free() {
    for budget in [Budget::percent(0), Budget::percent(0).charge_failover()] {
        let scenario = Scenario::new();
        let candidates = [(35, Ok("0")), (40, Ok("1")), (0, Ok("2"))];
        let race = scenario.race(Steps::new([ms(0), ms(20)]), candidates);
        let accepted = scenario.run(race.budget(&budget).quorum(2)).unwrap();
        assert_eq!([accepted[0].index, accepted[1].index], [0, 1]);
        assert_eq!(scenario.refused(Refusal::Budget), [(2, 20)]);
        assert_eq!(scenario.causes(), [(Cause::First, 0), (Cause::Delay, 0)]);
    }
}

#[test]
fn starts_report_their_causes() {
    let scenario = Scenario::new();
    let candidates: [Candidate; 4] = [
        (HANGS, Ok("")),
        (5, Err("E1")),
        (30, Err("E2")),
        (1, Ok("3")),
    ];
    let race = scenario.race(Steps::new([ms(10), ms(90)]), candidates);
    let race = race.attempt_timeout(ms(60)).max_attempts(4);
    let ended = scenario.run(race.on_failure(OnFailure::IfLatest).first_ok());
    assert_eq!(won(&ended).0, 3);
    let causes = [
        (Cause::First, 0),
        (Cause::Delay, 10),
        (Cause::Failure, 15),
        (Cause::Failure, 45),
    ];
    assert_eq!(scenario.causes(), causes);
}

#[test]
fn refusal_of_one_budget_refunds_only_what_the_other_charged() {
    let hedges = Budget::percent(0).reserve(1);
    let failovers = Budget::percent(0).charge_failover();
    let scenario = Scenario::new();
    let race = || scenario.race(ms(50), [(5, Err("E0")), (0, Ok("1"))]);
    let ended = scenario.run(race().budget(&hedges).budget(&failovers).first_ok());
    assert_eq!((errors(ended), hedges.balance()), (vec!["E0"], 1));

    let race = || scenario.race(ms(10), [(35, Ok("0")), (0, Ok("1"))]);
    let ended = scenario.run(race().budget(&hedges).budget(&failovers).first_ok());
    assert_eq!((won(&ended), hedges.balance()), ((0, 35), 1));
    let ended = scenario.run(race().budget(&failovers).budget(&hedges).first_ok());
    assert_eq!((won(&ended), hedges.balance()), ((0, 35), 1));
}

#[test]
fn three_budgets_refund_both_that_charged() {
    let [first, second] = [(); 2].map(|()| Budget::percent(0).reserve(1));
    let empty = Budget::percent(0);
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(35, Ok("0")), (0, Ok("1"))]);
    let race = race.budget(&first).budget(&second).budget(&empty);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 35));
    assert_eq!([first.balance(), second.balance()], [1, 1]);
}

#[test]
fn first_attempts_of_inline_races_and_streams_deposit() {
    let budget = Budget::percent(50);
    let scenario = Scenario::new();
    let attempts = scenario.attempts([(0, Ok("0"))]);
    let inline = InlineRace::<1, _, _>::at(scenario.clock.timer()).of(ms(10), attempts);
    scenario.run(inline.budget(&budget).first()).unwrap();
    let mut stream = scenario.race(ms(10), [(0, Ok("0")); 3]).budget(&budget);
    while scenario.run(stream.next()).is_some() {}
    assert_eq!(budget.balance(), 1); // twice a half
}

#[test]
fn start_is_free_if_pause_and_delay_end_at_the_same_instant() {
    let budget = Budget::percent(0).reserve(2);
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("")), (40, Err("E1")), (5, Ok("2"))];
    let race = scenario.race(ms(50), candidates).budget(&budget);
    let race = race.backoff(Backoff::new(ms(10)));
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 105));
    assert_eq!(scenario.causes()[2], (Cause::Failure, 100));
    assert_eq!(budget.balance(), 1); // only the hedge at 50 is charged
}

#[test]
fn failure_after_an_idle_start_has_its_own_cause() {
    let scenario = Scenario::new();
    let candidates = [(5, Ok("0")), (5, Err("E1")), (5, Ok("2"))];
    let race = scenario.race(Steps::new([]), candidates);
    assert_eq!(scenario.run(race.quorum(2)).unwrap().len(), 2);
    let causes = [(Cause::First, 0), (Cause::Idle, 5), (Cause::Failure, 10)];
    assert_eq!(scenario.causes(), causes);
}

/// A share of what is in flight, in several races at a time.
#[test]
fn hedges_are_a_share_of_what_is_in_flight() {
    let budget = Budget::in_flight(50).reserve(1);
    let clock = VirtualClock::new();
    let started = Cell::new(0);
    let attempt = |_: usize| {
        started.set(started.get() + 1);
        clock.sleep(ms(100))
    };
    let race = || {
        let race = Race::at(clock.timer())
            .from_fn(ms(10), attempt)
            .max_attempts(2);
        race.budget(&budget).first()
    };
    clock.run(join_all((0..4).map(|_| race()))).unwrap();
    // The first hedge is one of 5 attempts, the second one of 6, the third one of 7. A fourth would
    // be the fourth of 8, and half of 7 is 3.
    assert_eq!(started.get(), 7);
    assert_eq!((budget.balance(), clock.elapsed()), (1, ms(100)));
    drop(race());
    assert_eq!(budget.balance(), 1);
    assert!(!budget.withdraw(), "it is not for use by hand");
}

/// A hedge that cannot be made takes nothing from the budget, and one that panics gives it back: the
/// next one can start.
#[test]
fn hedges_that_panic_give_back_what_is_in_flight() {
    for is_made in [false, true] {
        let budget = Budget::in_flight(0).reserve(1);
        let clock = VirtualClock::new();
        let (panics, started) = (Cell::new(true), Cell::new(0));
        let attempt = |index: usize| {
            let panics = index == 1 && panics.replace(false);
            assert!(is_made || !panics, "attempt 1 cannot be made, on purpose");
            started.set(started.get() + 1);
            let clock = clock.clone();
            async move {
                assert!(!panics, "attempt 1 panics on purpose");
                clock.sleep(ms(25)).await;
            }
        };
        let race = Race::at(clock.timer()).from_fn(ms(10), attempt);
        let mut first = race.max_attempts(3).budget(&budget).first();
        let mut run = || catch_unwind(AssertUnwindSafe(|| clock.run(&mut first)));
        run().unwrap_err();
        let won = run().unwrap().unwrap();
        assert_eq!(won.map(|won| won.index), Some(0), "{is_made}");
        drop(first);
        assert_eq!(started.get(), 2 + usize::from(is_made));
        assert_eq!(budget.balance(), 1, "{is_made}");
    }
}
