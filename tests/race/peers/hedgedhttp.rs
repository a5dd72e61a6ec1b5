//! Facts from the tests of cristalhq/hedgedhttp (hedged_test.go). "Up to" is `max_attempts`; a
//! delay below zero (D3, D4) and "up to" 0 do not exist here. Its rule: a failure starts nothing.

use std::time::Duration;

use race::{OnFailure, observe::EventKind};

use crate::{
    probe::ms,
    scenario::{Candidate, Ended, HANGS, Scenario, errors, won},
};

const OK: Result<&str, &str> = Ok("ok");

fn race(delay: u64, up_to: usize, candidates: &[Candidate]) -> (Ended, Scenario) {
    let scenario = Scenario::new();
    let race = scenario.race(ms(delay), candidates.iter().copied());
    let race = race.max_attempts(up_to).on_failure(OnFailure::Wait);
    (scenario.run(race.first_ok()), scenario)
}

#[test]
fn d1_delay_is_asked_for_each_further_request() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let policy = |index: usize| {
        asked.push(index);
        Some(ms(10 * index as u64))
    };
    let race = scenario.race(policy, [(120, OK); 9]).max_attempts(5);
    let ended = scenario.run(race.first_ok());
    assert_eq!(won(&ended), (0, 120));
    assert_eq!(scenario.starts(), [0, 10, 30, 60, 100]);
    assert_eq!(asked, [1, 2, 3, 4]);
}

#[test]
fn d2_up_to_one_is_a_plain_request() {
    let (ended, scenario) = race(10, 1, &[(100, OK); 5]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 100), vec![0]));
}

#[test]
fn d5_up_to_seven() {
    let (ended, scenario) = race(10, 7, &[(100, OK); 9]);
    assert_eq!((won(&ended), scenario.starts().len()), ((0, 100), 7));
}

#[test]
fn d6_zero_delay_sends_all_at_once() {
    let (ended, scenario) = race(0, 5, &[(10, OK); 9]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 10), vec![0; 5]));
}

#[test]
fn d7_fast_answer_needs_one_request() {
    let (ended, scenario) = race(10, 5, &[(5, OK); 5]);
    assert_eq!((won(&ended), scenario.starts()), ((0, 5), vec![0]));
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn d8_best_of_several_wins() {
    let latencies = [600, 100, 20, 20, 20].map(|latency| (latency, OK));
    let (ended, scenario) = race(10, 5, &latencies);
    assert_eq!(won(&ended), (2, 40));
    assert_eq!(scenario.starts(), [0, 10, 20, 30]); // the answer beats the fifth, due at 40
}

#[test]
fn d9_original_wins() {
    let latencies = [20, 600, 100, 100, 100].map(|latency| (latency, OK));
    let (ended, scenario) = race(10, 5, &latencies);
    assert_eq!((won(&ended), scenario.starts()), ((0, 20), vec![0, 10]));
}

#[test]
fn d10_hedge_wins() {
    let latencies = [600, 100, 20, 100, 100].map(|latency| (latency, OK));
    let (ended, scenario) = race(5, 5, &latencies);
    assert_eq!(won(&ended), (2, 30));
    assert_eq!(scenario.starts(), [0, 5, 10, 15, 20]);
    assert_eq!(scenario.count(EventKind::Cancelled), 4);
}

#[test]
fn d11_four_errors_and_a_success() {
    let candidates = [Err("E0"), Err("E1"), Err("E2"), Err("E3"), OK].map(|result| (3, result));
    let (ended, scenario) = race(10, 5, &candidates);
    assert_eq!(won(&ended), (4, 43));
    assert_eq!(
        (scenario.starts().len(), scenario.count(EventKind::Failed)),
        (5, 4)
    );
}

#[test]
fn d12_all_fail() {
    let candidates = ["E0", "E1", "E2", "E3", "E4"].map(|error| (3, Err(error)));
    let (ended, _) = race(10, 5, &candidates);
    assert_eq!(errors(ended), ["E0", "E1", "E2", "E3", "E4"]);
}

#[test]
fn d13_all_but_the_last_hang() {
    let latencies = [HANGS, HANGS, HANGS, HANGS, 100].map(|latency| (latency, OK));
    let (ended, scenario) = race(10, 5, &latencies);
    assert_eq!((won(&ended), scenario.starts().len()), ((4, 140), 5));
}

#[test]
fn d14_user_cancels() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(HANGS, OK); 5]).first_ok();
    let mut race = Box::pin(race);
    let ended = scenario.clock.run(async {
        let mut alarm = Box::pin(scenario.clock.sleep(ms(50)));
        futures::future::select(&mut race, &mut alarm).await;
    });
    assert_eq!(ended, Ok(()));
    drop(race);
    assert_eq!(scenario.starts(), [0, 10, 20, 30, 40]);
    let cancelled: Vec<_> = (0..5).map(|index| (index, 50)).collect();
    assert_eq!(scenario.all(EventKind::Cancelled), cancelled);
}

#[test]
fn d15_slow_requests_are_hedged() {
    let (ended, _) = race(10, 5, &[(5, OK); 2]);
    assert_eq!(won(&ended).0, 0);
    let (ended, _) = race(10, 5, &[(50, OK), (5, OK)]);
    let won = ended.unwrap();
    assert_eq!((won.index, won.elapsed), (1, Duration::from_millis(15)));
}
