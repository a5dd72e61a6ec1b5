//! Error texts, conversions, and how to get the errors of attempts back.

mod boxed;

use std::{error::Error, fmt, io};

use anyhow::Context as _;
use race::{Budget, OnFailure, QuorumError, RaceError, Verdict, core::Race, test::VirtualClock};

use crate::{
    probe::ms,
    scenario::{Candidate, HANGS, Scenario},
};

type BoxError = Box<dyn Error + Send + Sync>;

const BOTH_FAIL: [Candidate; 2] = [(1, Err("refused")), (1, Err("no route"))];

#[test]
fn texts_of_race_errors() {
    let scenario = Scenario::new();
    let race = |candidates: &[Candidate]| scenario.race(ms(10), candidates.to_vec());
    macro_rules! text {
        ($finisher:expr) => {
            scenario.run($finisher).unwrap_err().to_string()
        };
    }
    assert_eq!(
        text!(race(&[]).first_ok()),
        "no candidates to race: provide at least one"
    );
    assert_eq!(
        text!(race(&BOTH_FAIL[..1]).first_ok()),
        "the only attempt failed: #0: refused"
    );
    assert_eq!(
        text!(race(&BOTH_FAIL).first_ok()),
        "all 2 attempts failed: #0: refused; #1: no route"
    );
    assert_eq!(
        text!(race(&BOTH_FAIL).max_attempts(1).first_ok()),
        "the attempt failed, and further ones were refused by max_attempts: #0: refused"
    );
    let three = [BOTH_FAIL[0], BOTH_FAIL[1], (0, Ok("2"))];
    assert_eq!(
        text!(race(&three).gate(|state| state.index < 2).first_ok()),
        "all 2 attempts failed, and further ones were refused by the gate: #0: refused; #1: no \
         route"
    );
    let budget = Budget::percent(0).charge_failover();
    assert_eq!(
        text!(race(&three).budget(&budget).first_ok()),
        "the attempt failed, and further ones were refused by the budget: #0: refused"
    );
    assert_eq!(
        text!(race(&three).first_ok_by(|_| Verdict::NoMoreStarts)),
        "the attempt failed, and further ones were refused by the verdict on a failure: #0: refused"
    );
    assert_eq!(
        text!(race(&BOTH_FAIL).first_ok_by(|error| match *error {
            "refused" => Verdict::Retryable,
            _ => Verdict::Fatal,
        })),
        "attempt #1 failed fatally: #0: refused; #1: no route"
    );
    assert_eq!(
        text!(race(&[(HANGS, Ok(""))]).deadline(ms(5)).first_ok()),
        "no attempt won before the deadline"
    );
    let hangs = [BOTH_FAIL[0], (HANGS, Ok(""))];
    assert_eq!(
        text!(race(&hangs).deadline(ms(5)).first_ok()),
        "no attempt won before the deadline: #0: refused"
    );
    assert_eq!(
        text!(race(&hangs).attempt_timeout(ms(5)).first_ok()),
        "all 2 attempts failed: #0: refused; #1: timed out after 5ms"
    );
    assert_eq!(
        text!(race(&three).max_attempts(0).first_ok()),
        "no attempt could start, refused by max_attempts"
    );
    assert_eq!(
        text!(race(&three).max_in_flight(0).first_ok()),
        "no attempt could start, refused by max_in_flight"
    );
}

#[test]
fn verdict_without_candidates_left_refuses_nothing() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [BOTH_FAIL[0]]);
    let error = scenario.run(race.first_ok_by(|_| Verdict::NoMoreStarts));
    assert_eq!(
        error.unwrap_err().to_string(),
        "the only attempt failed: #0: refused"
    );
}

#[test]
fn refusal_that_a_failure_overruled_is_not_in_the_error() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(1), [(5, Err("refused")), (5, Err("no route"))]);
    let budget = Budget::percent(0);
    let error = scenario.run(race.budget(&budget).first_ok()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: #0: refused; #1: no route"
    );
}

#[test]
fn texts_of_quorum_errors() {
    let scenario = Scenario::new();
    let race = |candidates: &[Candidate]| scenario.race(ms(10), candidates.to_vec());
    macro_rules! text {
        ($finisher:expr) => {
            scenario.run($finisher).unwrap_err().to_string()
        };
    }
    assert_eq!(
        text!(race(&[]).quorum(2)),
        "no candidates to race: provide at least one"
    );
    let one_ok = [(0, Ok("0")), (1, Err("refused")), (HANGS, Ok(""))];
    assert_eq!(
        text!(race(&one_ok[..2]).quorum(2)),
        "the quorum is out of reach, with 1 of 2 attempts accepted: #1: refused"
    );
    assert_eq!(
        text!(race(&one_ok).deadline(ms(50)).quorum(2)),
        "the deadline passed, with 1 of 2 attempts accepted: #1: refused"
    );
    assert_eq!(
        text!(race(&one_ok).gate(|_| false).quorum(2)),
        "the quorum is out of reach, with 1 of 2 attempts accepted and further ones refused by the \
         gate"
    );
    let statuses = [200, 404, 200].map(|status| async move { status });
    let race = Race::at(scenario.clock.timer()).of(ms(10), statuses);
    assert_eq!(
        text!(race.quorum_by(2, |status| match status {
            200 => Verdict::Accept,
            _ => Verdict::Fatal,
        })),
        "attempt #1 failed fatally, with 1 of 2 attempts accepted: #1: 404"
    );
}

#[test]
fn errors_come_back_in_the_order_in_which_they_happened() {
    let scenario = Scenario::new();
    let candidates = [
        (30, Err("E0")),
        (10, Err("E1")),
        (HANGS, Ok("")),
        (20, Err("E3")),
    ];
    let failed = || {
        let race = scenario.race(ms(0), candidates);
        scenario
            .run(race.attempt_timeout(ms(25)).first_ok())
            .unwrap_err()
    };
    // The timeouts of #0 and #2 come last.
    assert_eq!(failed().into_errors(), ["E1", "E3"]);
    assert_eq!(failed().into_last_error(), Some("E3"));
    let indices: Vec<_> = failed().into_failed().iter().map(|it| it.index).collect();
    assert_eq!(indices, [1, 3, 0, 2]);
    let none: RaceError<(), &str> = RaceError::NoCandidates;
    assert_eq!(none.into_last_error(), None);

    let tally = || {
        let race = scenario.race(ms(0), candidates).attempt_timeout(ms(25));
        scenario.run(race.quorum(1)).unwrap_err()
    };
    assert_eq!(tally().into_errors(), ["E1", "E3"]);
    assert_eq!(tally().into_last_error(), Some("E3"));
    assert_eq!(tally().into_failed().len(), 4);
    assert_eq!(tally().into_tally().unwrap().needed, 1);
}

/// Races attempts that fail with these errors.
fn fails<E: 'static>(
    errors: impl IntoIterator<Item = E>,
) -> Result<race::Won<usize, ()>, RaceError<usize, E>> {
    let clock = VirtualClock::new();
    let attempts = errors
        .into_iter()
        .map(|error| async { Err::<(), E>(error) });
    let race = Race::at(clock.timer()).of(ms(1), attempts);
    clock
        .run(race.on_failure(OnFailure::Any).first_ok())
        .unwrap()
}

#[test]
fn question_mark_converts_to_anyhow_and_to_boxed_errors() {
    fn to_anyhow<E: fmt::Debug + fmt::Display + Send + Sync + 'static>(
        error: E,
    ) -> anyhow::Result<()> {
        fails([error])?;
        Ok(())
    }
    fn to_box<E: fmt::Debug + fmt::Display + Send + Sync + 'static>(
        error: E,
    ) -> Result<(), BoxError> {
        fails([error])?;
        Ok(())
    }
    let text = "the only attempt failed: #0: refused";
    let boxed = || BoxError::from("refused");
    let refused = || io::Error::other("refused");
    for error in [
        to_anyhow(anyhow::anyhow!("refused")),
        to_anyhow(boxed()),
        to_anyhow(String::from("refused")),
        to_anyhow(refused()),
    ] {
        assert_eq!(format!("{:#}", error.unwrap_err()), text);
    }
    for error in [
        to_box(anyhow::anyhow!("refused")),
        to_box(boxed()),
        to_box(String::from("refused")),
        to_box(refused()),
    ] {
        assert_eq!(error.unwrap_err().to_string(), text);
    }
}

#[test]
fn question_mark_converts_quorum_errors() {
    fn quorum() -> anyhow::Result<()> {
        let clock = VirtualClock::new();
        let attempts = [(); 2].map(|()| async { Err::<(), _>(anyhow::anyhow!("refused")) });
        let race = Race::at(clock.timer()).of(ms(1), attempts);
        clock.run(race.quorum(1))??;
        Ok(())
    }
    let error = quorum().unwrap_err();
    assert!(error.is::<QuorumError<usize, (), anyhow::Error>>());
    assert_eq!(
        format!("{error:#}"),
        "the quorum is out of reach, with 0 of 1 attempts accepted: #0: refused; #1: refused"
    );
}

#[test]
fn message_has_the_chain_of_each_error_and_the_source_is_none() {
    let chained = || anyhow::Error::from(io::Error::other("reset")).context("get the file");
    let error = fails([chained(), chained()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: #0: get the file: reset; #1: get the file: reset"
    );
    assert!(error.source().is_none());
    let outer = Err::<(), _>(error).context("load the page").unwrap_err();
    assert_eq!(
        format!("{outer:#}"),
        "load the page: all 2 attempts failed: #0: get the file: reset; #1: get the file: reset"
    );
}
