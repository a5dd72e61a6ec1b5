//! Facts from Finagle's BackupRequestFilterTest.scala, with its delay of 2 s. Its rule: a failure
//! sends no backup; a backup that was sent decides. Tests of its statistics are in `adaptive`.

use std::cell::Cell;

use race::{
    Budget, Verdict,
    observe::{EventKind, Refusal},
};

use crate::{
    probe::ms,
    scenario::{Candidate, Output, Scenario},
};

/// The result, and the scenario with its clock.
fn race(candidates: &[Candidate]) -> (Result<(usize, &'static str), Vec<Output>>, Scenario) {
    let scenario = Scenario::new();
    let race = scenario.race(ms(2_000), candidates.iter().copied());
    let first = race.first_by(|output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::NoMoreStarts,
    });
    let ended = match scenario.run(first) {
        Ok(won) => Ok((won.index, won.output.unwrap())),
        Err(error) => {
            let failed = error.failed().iter();
            Err(failed
                .filter_map(|it| it.failure.error().copied())
                .collect())
        }
    };
    (ended, scenario)
}

#[test]
fn n1_answer_before_the_delay_sends_no_backup() {
    let (ended, scenario) = race(&[(1_000, Ok("original")), (0, Ok("backup"))]);
    assert_eq!(ended, Ok((0, "original")));
    assert_eq!((scenario.starts(), scenario.millis()), (vec![0], 1_000));
}

#[test]
fn n2_failure_before_the_delay_is_returned_at_once() {
    let (ended, scenario) = race(&[(1_000, Err("original")), (0, Ok("backup"))]);
    assert_eq!(ended, Err(vec![Err("original")]));
    assert_eq!((scenario.starts(), scenario.millis()), (vec![0], 1_000));
}

#[test]
fn n3_answer_of_the_backup_interrupts_the_original() {
    let (ended, scenario) = race(&[(9_000, Ok("original")), (1_000, Ok("backup"))]);
    assert_eq!(ended, Ok((1, "backup")));
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 3_000)]);
}

#[test]
fn n4_without_interrupts_the_original_finishes() {
    let scenario = Scenario::new();
    let candidates = [(9_000, Ok("original")), (1_000, Ok("backup"))];
    let race = scenario.race(ms(2_000), candidates);
    let late = scenario.run(async {
        let (answer, mut losers) = race.first_ok().keep_race().await;
        assert_eq!(answer.unwrap().output, "backup");
        assert_eq!(scenario.millis(), 3_000);
        losers.next().await
    });
    assert_eq!(late, Some((0, Ok("original"))));
    assert_eq!(scenario.all(EventKind::Finished), [(0, 9_000)]);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn n5_original_answers_after_the_backup_was_sent() {
    let (ended, scenario) = race(&[(3_000, Ok("original")), (9_000, Ok("backup"))]);
    assert_eq!(ended, Ok((0, "original")));
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 3_000)]);
}

#[test]
fn n6_backup_answers_after_the_original_failed() {
    let (ended, scenario) = race(&[(3_000, Err("original")), (5_000, Ok("backup"))]);
    assert_eq!((ended, scenario.millis()), (Ok((1, "backup")), 7_000));
}

#[test]
fn n7_original_answers_after_the_backup_failed() {
    let (ended, scenario) = race(&[(5_000, Ok("original")), (1_000, Err("backup"))]);
    assert_eq!((ended, scenario.millis()), (Ok((0, "original")), 5_000));
}

#[test]
fn n9_one_empty_budget_of_two_sends_no_backup() {
    for (ours, theirs) in [(0, 5), (5, 0)] {
        let scenario = Scenario::new();
        let (ours, theirs) = (
            Budget::percent(0).reserve(ours),
            Budget::percent(0).reserve(theirs),
        );
        let candidates = [(9_000, Ok("original")), (0, Ok("backup"))];
        let race = scenario.race(ms(2_000), candidates);
        let ended = scenario.run(race.budget(&ours).budget(&theirs).first_ok());
        assert_eq!(ended.unwrap().output, "original");
        let suppressed = EventKind::Refused(Refusal::Budget);
        assert_eq!(scenario.all(suppressed), [(1, 2_000)]);
        // The budget that was not empty is unchanged.
        assert_eq!(ours.balance() + theirs.balance(), 5);
    }
}

#[test]
fn races_on_several_threads_share_a_budget() {
    let budget = Budget::percent(0).reserve(30);
    let backups = || {
        let backups = Cell::new(0);
        for _ in 0..100 {
            let scenario = Scenario::new();
            let race = scenario.race(ms(1), [(9, Ok("original")), (9, Ok("backup"))]);
            scenario.run(race.budget(&budget).first_ok()).unwrap();
            backups.set(backups.get() + scenario.starts().len() - 1);
        }
        backups.get()
    };
    let total: usize = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(backups));
        threads.map(|it| it.join().unwrap()).iter().sum()
    });
    assert_eq!((total, budget.balance()), (30, 0));
}
