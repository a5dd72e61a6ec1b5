//! Quorums: the first `k` attempts that succeed.

use futures::{FutureExt as _, StreamExt as _};
use race::{
    Budget, QuorumError, Steps, Verdict, Won,
    core::Race,
    observe::{EventKind, Refusal},
};

use crate::{
    probe::ms,
    scenario::{HANGS, Output, Scenario},
};

#[test]
fn first_two_win_and_the_others_are_cancelled() {
    let scenario = Scenario::new();
    let candidates = [
        (HANGS, Ok("0")),
        (5, Err("E1")),
        (40, Ok("2")),
        (20, Ok("3")),
    ];
    let race = scenario.race(ms(10), candidates);
    let accepted = scenario.run(race.quorum(2)).unwrap();
    let accepted: Vec<_> = accepted
        .iter()
        .map(|won| (won.index, won.output, won.elapsed))
        .collect();
    assert_eq!(accepted, [(3, "3", ms(45)), (2, "2", ms(55))]);
    assert_eq!(scenario.all(EventKind::Won), [(3, 45), (2, 55)]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 55)]);
}

#[test]
fn quorum_fails_as_soon_as_it_is_out_of_reach() {
    let scenario = Scenario::new();
    let candidates = [
        (10, Ok("0")),
        (20, Err("E1")),
        (30, Err("E2")),
        (HANGS, Ok("3")),
    ];
    let race = scenario.race(ms(0), candidates);
    let error = scenario.run(race.quorum(3)).unwrap_err();
    let QuorumError::OutOfReach(tally) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (tally.needed, tally.accepted.len(), tally.failed.len()),
        (3, 1, 2)
    );
    assert_eq!(scenario.millis(), 30);
    assert_eq!(
        error.to_string(),
        "the quorum is out of reach, with 1 of 3 attempts accepted: #1: E1; #2: E2"
    );
}

#[test]
fn too_few_candidates_are_not_started() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(10, Ok("0")), (10, Ok("1"))]);
    assert!(matches!(
        scenario.run(race.quorum(3)),
        Err(QuorumError::OutOfReach(_))
    ));
    let race = scenario.race(ms(0), [(10, Ok("0")), (10, Ok("1"))]);
    assert!(scenario.run(race.max_attempts(1).quorum(2)).is_err());
    assert_eq!(scenario.count(EventKind::Started), 0);
}

#[test]
fn needed_attempts_start_at_once_and_spares_later() {
    let scenario = Scenario::new();
    let steps = Steps::new([ms(0), ms(50)]);
    let race = scenario.race(steps, [(20, Ok("0")), (HANGS, Ok("1")), (20, Ok("2"))]);
    let accepted = scenario.run(race.quorum(2)).unwrap();
    assert_eq!(accepted.len(), 2);
    assert_eq!(scenario.starts(), [0, 0, 50]);
    assert_eq!(scenario.millis(), 70);
}

#[test]
fn deadline_and_fatal_failure_return_the_accepted_attempts() {
    let scenario = Scenario::new();
    let candidates = [(10, Ok("0")), (HANGS, Ok("1"))];
    let race = scenario.race(ms(0), candidates);
    let error = scenario.run(race.deadline(ms(60)).quorum(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the deadline passed, with 1 of 2 attempts accepted"
    );
    assert_eq!(error.tally().unwrap().accepted[0].output, "0");

    let race = scenario.race(ms(0), [(10, Ok("0")), (20, Err("forbidden"))]);
    let quorum = race.quorum_by(2, |output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::Fatal,
    });
    let error = scenario.run(quorum).unwrap_err();
    assert_eq!(error.tally().unwrap().accepted.len(), 1);
    assert!(matches!(error, QuorumError::Fatal(tally) if tally.failed[0].index == 1));
}

#[test]
fn endless_successes_do_not_hang_a_poll() {
    let scenario = Scenario::new();
    let ready = std::iter::repeat((0, Ok("ready")));
    let race = scenario.race(ms(0), ready);
    let mut quorum = Box::pin(race.quorum(usize::MAX));
    assert!((&mut quorum).now_or_never().is_none());
    assert_eq!(scenario.count(EventKind::Won), 32);
}

#[test]
fn budget_charges_only_attempts_beyond_the_quorum() {
    let budget = Budget::percent(0);
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(5, Ok("0")), (5, Ok("1")), (5, Ok("2"))]);
    assert_eq!(
        scenario.run(race.budget(&budget).quorum(2)).unwrap().len(),
        2
    );
    let race = scenario.race(ms(10), [(5, Ok("0")), (HANGS, Ok("1")), (5, Ok("2"))]);
    let quorum = race.budget(&budget).deadline(ms(100)).quorum(2);
    assert!(matches!(
        scenario.run(quorum),
        Err(QuorumError::Deadline(_))
    ));
    let suppressed = EventKind::Refused(Refusal::Budget);
    assert_eq!(scenario.all(suppressed).len(), 1);
}

/// With an inexact size hint, the end of the source is found by drawing ahead.
#[test]
fn quorum_with_inexact_size_hint_fails_at_once() {
    for max_in_flight in [1, 2, usize::MAX] {
        let scenario = Scenario::new();
        let candidates = [(HANGS, Ok("0")), (0, Ok("not raced"))];
        let filtered = candidates
            .into_iter()
            .filter(|candidate| candidate.0 == HANGS);
        let race = scenario.race(ms(10), filtered).max_in_flight(max_in_flight);
        assert_out_of_reach(scenario.run(race.quorum(2)), 0);

        let mut candidates = candidates[..1].iter().copied();
        let from_fn = std::iter::from_fn(|| candidates.next());
        let race = scenario.race(ms(10), from_fn).max_in_flight(max_in_flight);
        assert_out_of_reach(scenario.run(race.quorum(2)), 0);

        let run = |_: &u8| std::future::pending::<Output>();
        let stream = futures::stream::iter([0]).filter(|_| std::future::ready(true));
        let race = Race::at(scenario.clock.timer()).from_stream(ms(10), run, stream);
        let race = race.max_in_flight(max_in_flight);
        assert_out_of_reach(scenario.run(race.quorum(2)), 0);
        assert_eq!(scenario.millis(), 0, "max_in_flight({max_in_flight})");
    }
}

#[test]
fn quorum_of_a_race_that_was_polled_as_a_stream_draws_ahead() {
    let scenario = Scenario::new();
    let mut candidates = [(HANGS, Ok("0"))].into_iter();
    let from_fn = std::iter::from_fn(|| candidates.next());
    let mut race = scenario.race(ms(10), from_fn).max_in_flight(1);
    scenario.run(async { assert!(futures::poll!(race.next()).is_pending()) });
    assert_out_of_reach(scenario.run(race.quorum(2)), 0);
    assert_eq!(scenario.millis(), 0);
}

/// The result of a quorum.
type Reached<A> = Result<Vec<Won<A, &'static str>>, QuorumError<A, &'static str, &'static str>>;

#[track_caller]
fn assert_out_of_reach<A: std::fmt::Debug>(ended: Reached<A>, failed: usize) {
    match ended {
        Err(QuorumError::OutOfReach(tally)) => assert_eq!(tally.failed.len(), failed),
        ended => panic!("{ended:?}"),
    }
}

#[test]
fn failures_that_are_ready_in_the_same_poll_are_in_the_tally() {
    let scenario = Scenario::new();
    let candidates = [
        (10, Err("E0")),
        (10, Err("E1")),
        (10, Ok("2")),
        (10, Err("E3")),
        (HANGS, Ok("4")),
    ];
    let race = scenario.race(ms(0), candidates);
    let error = scenario.run(race.quorum(4)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the quorum is out of reach, with 1 of 4 attempts accepted: #0: E0; #1: E1; #3: E3"
    );
    assert_eq!(scenario.millis(), 10);
    assert_eq!(scenario.all(EventKind::Failed), [(0, 10), (1, 10), (3, 10)]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(4, 10)]);
}

#[test]
fn quorum_waits_for_a_stream_that_may_yield_more() {
    let scenario = Scenario::new();
    let (sender, receiver) = futures::channel::mpsc::unbounded();
    let run = |&millis: &u64| {
        let sleep = scenario.clock.sleep(ms(millis));
        async move {
            sleep.await;
            Output::Ok("yes")
        }
    };
    let race = Race::at(scenario.clock.timer()).from_stream(ms(10), run, receiver);
    let mut quorum = race.quorum(2);
    scenario.run(async {
        sender.unbounded_send(5).unwrap();
        for _ in 0..3 {
            assert!(futures::poll!(&mut quorum).is_pending());
            scenario.clock.advance(ms(5));
        }
        sender.unbounded_send(7).unwrap();
        assert!(futures::poll!(&mut quorum).is_pending());
        let accepted = quorum.await.unwrap();
        assert_eq!([accepted[0].arg, accepted[1].arg], [5, 7]);
    });
}

#[test]
fn quorum_of_a_stream_that_ends_late_fails_then() {
    let scenario = Scenario::new();
    let (sender, receiver) = futures::channel::mpsc::unbounded();
    let run = |_: &u8| std::future::pending::<Output>();
    let race = Race::at(scenario.clock.timer()).from_stream(ms(10), run, receiver);
    let mut quorum = race.max_in_flight(1).quorum(2);
    scenario.run(async {
        sender.unbounded_send(0).unwrap();
        for _ in 0..3 {
            assert!(futures::poll!(&mut quorum).is_pending());
            scenario.clock.advance(ms(5));
        }
        drop(sender);
        assert_out_of_reach(quorum.await, 0);
    });
}

#[test]
fn attempt_timeout_makes_a_quorum_fail() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (10, Ok("1")), (HANGS, Ok("2"))];
    let race = scenario.race(ms(0), candidates).attempt_timeout(ms(50));
    let error = scenario.run(race.quorum(2)).unwrap_err();
    let tally = error.tally().unwrap();
    assert_eq!((tally.accepted.len(), tally.failed.len()), (1, 2));
    assert_eq!(scenario.millis(), 50);
}
