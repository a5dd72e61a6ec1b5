//! Facts from the tests of failsafe-go (test/hedgepolicy_test.go). "Cancel on" is the classifier,
//! "max hedges" one less than `max_attempts`. Tests of quantiles are in `adaptive`.

use race::{Failure, RaceError, Verdict, core::Race, observe::EventKind};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario, won},
};

#[test]
fn f1_immediate_result_is_not_hedged() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(1_000), [(0, Ok("instant")), (0, Ok("hedge"))]);
    let ended = scenario.run(race.first_ok());
    assert_eq!((won(&ended), scenario.starts()), ((0, 0), vec![0]));
}

#[test]
fn f2_blocking_hedges_are_cancelled() {
    let scenario = Scenario::new();
    let candidates = [(100, Ok("true")), (HANGS, Ok("")), (HANGS, Ok(""))];
    let race = scenario.race(ms(10), candidates).max_attempts(3);
    let ended = scenario.run(race.first_ok());
    assert_eq!(
        (won(&ended), scenario.starts()),
        ((0, 100), vec![0, 10, 20])
    );
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 100), (2, 100)]);
}

#[test]
fn f3_equally_slow_hedges_lose() {
    let scenario = Scenario::new();
    let race = scenario
        .race(ms(20), [(100, Ok("same")); 9])
        .max_attempts(3);
    let ended = scenario.run(race.first_ok());
    assert_eq!(
        (won(&ended), scenario.starts()),
        ((0, 100), vec![0, 20, 40])
    );
}

/// Races numbers; one number is accepted.
fn accepting(
    delay: u64,
    numbers: [(u64, u32); 5],
    max: usize,
    accepted: u32,
) -> (Result<(u32, usize), Vec<u32>>, usize) {
    let scenario = Scenario::new();
    let started = std::cell::Cell::new(0);
    let attempts = numbers.map(|(latency, number)| {
        let (sleep, started) = (scenario.clock.sleep(ms(latency)), &started);
        async move {
            started.set(started.get() + 1);
            sleep.await;
            number
        }
    });
    let race = Race::at(scenario.clock.timer())
        .of(ms(delay), attempts)
        .max_attempts(max);
    let first = race.first_by(|number| match *number == accepted {
        true => Verdict::Accept,
        false => Verdict::Retryable,
    });
    let ended = match scenario.run(first) {
        Ok(won) => Ok((won.output, won.index)),
        Err(RaceError::AllFailed { failed, .. }) => {
            let outputs = failed.into_iter().map(|failed| match failed.failure {
                Failure::Error(number) => number,
                failure => panic!("{failure:?}"),
            });
            Err(outputs.collect())
        }
        Err(error) => panic!("{error:?}"),
    };
    (ended, started.get())
}

#[test]
fn f4_only_the_third_result_is_accepted() {
    let numbers = [1, 2, 3, 4, 5].map(|number| (10, number));
    assert_eq!(accepting(0, numbers, 3, 3), (Ok((3, 2)), 3));
}

#[test]
fn f5_without_delay_nothing_is_hedged_and_the_rejected_result_comes_back() {
    let scenario = Scenario::new();
    let never = |_: usize| None;
    let race = scenario.race(never, [(100, Ok("alone")), (0, Ok("hedge"))]);
    let ended = scenario.run(race.max_attempts(1).first_by(|_| Verdict::Retryable));
    let Err(RaceError::AllFailed { failed, .. }) = ended else {
        panic!("it was not accepted");
    };
    assert_eq!(failed[0].failure, Failure::Error(Ok("alone")));
    assert_eq!((scenario.starts(), scenario.millis()), (vec![0], 100));
}

#[test]
fn f8_accepted_third_result_cancels_the_others() {
    let numbers = [(HANGS / 2_000_000, 0), (500, 0), (5, 1), (500, 0), (500, 0)];
    assert_eq!(accepting(10, numbers, 5, 1), (Ok((1, 2)), 3));
}
