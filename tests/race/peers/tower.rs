//! Facts from tower's tests of its hedge (tower/tests/hedge/main.rs), with the delay of 10 ms that
//! its histogram yields. Tests of the histogram are in `adaptive`.

use race::observe::{EventKind, Refusal};

use crate::{
    probe::ms,
    scenario::{Candidate, Ended, Scenario, won},
};

const ORIGINAL: Result<&str, &str> = Ok("original");
const HEDGE: Result<&str, &str> = Ok("hedge");

fn race(candidates: &[Candidate]) -> (Ended, Scenario) {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), candidates.iter().copied());
    (scenario.run(race.first_ok()), scenario)
}

#[test]
fn h1_original_answers_after_the_hedge_was_sent() {
    let (ended, scenario) = race(&[(20, ORIGINAL), (100, HEDGE)]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 20), vec![0, 10]));
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 20)]);
}

#[test]
fn h2_hedge_answers() {
    let (ended, scenario) = race(&[(100, ORIGINAL), (5, HEDGE)]);
    assert_eq!((won(&ended), scenario.starts()), ((1, 15), vec![0, 10]));
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 15)]);
}

#[test]
fn h3_answer_before_the_delay_sends_no_hedge() {
    let (ended, scenario) = race(&[(9, ORIGINAL), (0, HEDGE)]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 9), vec![0]));
}

#[test]
fn h4_gate_prevents_the_hedge() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(20, ORIGINAL), (0, HEDGE)]);
    let ended = scenario.run(race.gate(|_| false).first_ok());
    assert_eq!((won(&ended), scenario.starts()), ((0, 20), vec![0]));
    let suppressed = EventKind::Refused(Refusal::Gate);
    assert_eq!(scenario.all(suppressed), [(1, 10)]);
}

#[test]
fn h5_single_candidate_is_not_hedged() {
    let (ended, scenario) = race(&[(20, ORIGINAL)]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 20), vec![0]));
}
