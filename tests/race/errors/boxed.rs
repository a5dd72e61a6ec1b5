//! Errors of races whose attempt errors are boxed.

use std::{error::Error, fmt, io};

use race::{RaceError, Verdict, core::Race, outcome::BoxedRaceError, test::VirtualClock};

use super::{BOTH_FAIL, fails};
use crate::{
    probe::ms,
    scenario::{Candidate, HANGS, Scenario},
};

/// An error with a source, whose message does not contain the source.
#[derive(Debug)]
struct Chained(&'static str, io::Error);

impl fmt::Display for Chained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Chained {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.1)
    }
}

fn chain(error: &dyn Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts
}

fn two_chained() -> [Chained; 2] {
    [("one", "reset"), ("two", "no route")].map(|(text, why)| Chained(text, io::Error::other(why)))
}

#[test]
fn boxed_error_lists_all_failures_and_continues_the_chain_of_the_last_error() {
    let error = fails(two_chained()).map_err(RaceError::boxed).unwrap_err();
    assert_eq!(
        chain(&error),
        ["all 2 attempts failed: #0: one; #1: two", "no route"]
    );
    let last = error.last_error().unwrap();
    assert_eq!(last.downcast_ref::<Chained>().unwrap().0, "two");
    assert!(error.source().unwrap().is::<io::Error>());
    let failed = error.failed();
    assert_eq!((failed[0].index, failed[1].index), (0, 1));
    let first = failed[0].failure.error().unwrap();
    assert_eq!(chain(&**first), ["one", "reset"]);
    let last = error.into_failed().pop().unwrap();
    let last = last.failure.into_error().unwrap();
    assert_eq!(last.downcast::<Chained>().unwrap().0, "two");
}

#[test]
fn last_error_of_boxed_error_is_kept_though_a_later_attempt_timed_out() {
    let scenario = Scenario::new();
    let race = || {
        let attempts = [(10, Err("503")), (900, Ok("late"))];
        scenario
            .race(ms(50), attempts.to_vec())
            .attempt_timeout(ms(100))
    };
    let error = scenario.run(race().first_ok()).unwrap_err().boxed();
    assert_eq!(
        chain(&error),
        ["all 2 attempts failed: #0: 503; #1: timed out after 100ms"]
    );
    assert_eq!(error.last_error().unwrap().to_string(), "503");
}

#[test]
fn boxed_quorum_error_continues_the_chain_of_the_last_error() {
    let clock = VirtualClock::new();
    let attempts = two_chained().map(|error| async { Err::<(), _>(error) });
    let race = Race::at(clock.timer()).of(ms(50), attempts);
    let error = clock.run(race.quorum(1)).unwrap().unwrap_err().boxed();
    assert_eq!(
        chain(&error),
        [
            "the quorum is out of reach, with 0 of 1 attempts accepted: #0: one; #1: two",
            "no route"
        ]
    );
}

#[test]
fn boxed_error_prints_nothing_twice_in_a_chain() {
    let error: anyhow::Error = fails(two_chained())
        .map_err(RaceError::boxed)
        .unwrap_err()
        .into();
    assert_eq!(
        format!("{error:#}"),
        "all 2 attempts failed: #0: one; #1: two: no route"
    );
    assert!(error.is::<BoxedRaceError>());
    assert!(error.chain().any(|error| error.is::<io::Error>()));
}

#[test]
fn boxed_texts_of_each_variant() {
    let scenario = Scenario::new();
    let boxed = |ended: Result<_, RaceError<usize, &'static str>>| {
        let ended: Result<race::Won<usize, &str>, _> = ended;
        chain(&ended.map_err(RaceError::boxed).unwrap_err())
    };
    let race = |candidates: &[Candidate]| scenario.race(ms(10), candidates.to_vec());
    assert_eq!(
        boxed(scenario.run(race(&[]).first_ok())),
        ["no candidates to race: provide at least one"]
    );
    assert_eq!(
        boxed(
            scenario.run(race(&BOTH_FAIL).first_ok_by(|error| match *error {
                "refused" => Verdict::Retryable,
                _ => Verdict::Fatal,
            }))
        ),
        ["attempt #1 failed fatally: #0: refused; #1: no route"]
    );
    let hangs = [BOTH_FAIL[0], BOTH_FAIL[1], (HANGS, Ok(""))];
    assert_eq!(
        boxed(scenario.run(race(&hangs).deadline(ms(5)).first_ok())),
        ["no attempt won before the deadline: #0: refused; #1: no route"]
    );
    assert_eq!(
        boxed(scenario.run(race(&hangs).attempt_timeout(ms(5)).first_ok())),
        ["all 3 attempts failed: #0: refused; #1: no route; #2: timed out after 5ms"]
    );
}
