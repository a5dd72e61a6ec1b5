//! The first so many.

use futures::FutureExt as _;
use race::{Budget, Fixed, QuorumError, Steps, Suppressed, Verdict, What};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario},
};

#[test]
fn the_first_two_win_and_the_others_are_cancelled() {
    let scenario = Scenario::new();
    let candidates = [
        (HANGS, Ok("0")),
        (5, Err("E1")),
        (40, Ok("2")),
        (20, Ok("3")),
    ];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let accepted = scenario.run(race.quorum(2)).unwrap();
    let accepted: Vec<_> = accepted
        .iter()
        .map(|won| (won.place, won.output, won.elapsed))
        .collect();
    assert_eq!(accepted, [(3, "3", ms(45)), (2, "2", ms(55))]);
    assert_eq!(scenario.all(What::Won), [(3, 45), (2, 55)]);
    assert_eq!(scenario.all(What::Cancelled), [(0, 55)]);
}

#[test]
fn it_fails_as_soon_as_it_is_out_of_reach() {
    let scenario = Scenario::new();
    let candidates = [
        (10, Ok("0")),
        (20, Err("E1")),
        (30, Err("E2")),
        (HANGS, Ok("3")),
    ];
    let race = scenario.race(Fixed(ms(0)), candidates);
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
        "no quorum is left to be had, with 1 of 3: #1: E1; #2: E2"
    );
}

#[test]
fn too_few_candidates_are_not_even_started() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(0)), [(10, Ok("0")), (10, Ok("1"))]);
    assert!(matches!(
        scenario.run(race.quorum(3)),
        Err(QuorumError::OutOfReach(_))
    ));
    let race = scenario.race(Fixed(ms(0)), [(10, Ok("0")), (10, Ok("1"))]);
    assert!(scenario.run(race.max_attempts(1).quorum(2)).is_err());
    assert_eq!(scenario.count(What::Started), 0);
}

#[test]
fn all_that_are_needed_at_once_and_spares_after_a_while() {
    let scenario = Scenario::new();
    let steps = Steps::new([ms(0), ms(50)]);
    let race = scenario.race(steps, [(20, Ok("0")), (HANGS, Ok("1")), (20, Ok("2"))]);
    let accepted = scenario.run(race.quorum(2)).unwrap();
    assert_eq!(accepted.len(), 2);
    assert_eq!(scenario.starts(), [0, 0, 50]);
    assert_eq!(scenario.millis(), 70);
}

#[test]
fn a_deadline_and_a_fatal_failure_give_back_what_was_accepted() {
    let scenario = Scenario::new();
    let candidates = [(10, Ok("0")), (HANGS, Ok("1"))];
    let race = scenario.race(Fixed(ms(0)), candidates);
    let error = scenario.run(race.quorum(2).deadline(ms(60))).unwrap_err();
    assert_eq!(error.to_string(), "the deadline passed with 1 of 2");
    assert_eq!(error.tally().unwrap().accepted[0].output, "0");

    let race = scenario.race(Fixed(ms(0)), [(10, Ok("0")), (20, Err("forbidden"))]);
    let quorum = race.quorum_by(2, |output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::Fatal,
    });
    let error = scenario.run(quorum).unwrap_err();
    assert_eq!(error.tally().unwrap().accepted.len(), 1);
    assert!(matches!(error, QuorumError::Fatal { fatal, .. } if fatal.place == 1));
}

#[test]
fn an_endless_row_of_successes_never_hangs_a_poll() {
    let scenario = Scenario::new();
    let ready = std::iter::repeat((0, Ok("ready")));
    let race = scenario.race(Fixed(ms(0)), ready);
    let mut quorum = Box::pin(race.quorum(usize::MAX));
    assert!((&mut quorum).now_or_never().is_none());
    assert_eq!(scenario.count(What::Won), 32);
}

#[test]
fn a_budget_pays_only_for_more_than_are_needed() {
    let budget = Budget::percent(0);
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(10)), [(5, Ok("0")), (5, Ok("1")), (5, Ok("2"))]);
    assert_eq!(
        scenario.run(race.budget(&budget).quorum(2)).unwrap().len(),
        2
    );
    let race = scenario.race(
        Fixed(ms(10)),
        [(5, Ok("0")), (HANGS, Ok("1")), (5, Ok("2"))],
    );
    let quorum = race.budget(&budget).quorum(2).deadline(ms(100));
    assert!(matches!(
        scenario.run(quorum),
        Err(QuorumError::Deadline(_))
    ));
    let suppressed = What::Suppressed(Suppressed::Budget);
    assert_eq!(scenario.all(suppressed).len(), 1);
}
