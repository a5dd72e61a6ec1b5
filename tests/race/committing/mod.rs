//! Attempts that commit before they are finished, make progress, or hold the next start.

mod escaped;
mod observed;
mod panicking;
mod progress;
mod threads;
mod time_left;

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
};

use futures::FutureExt as _;
use race::{
    AttemptHandle, Failure, OnFailure, QuorumError, RaceError, Verdict, core::Race,
    observe::EventKind, source::Committing, test::VirtualTimer,
};

use crate::{
    probe::{ms, yield_now},
    scenario::{Output, Scenario},
};

/// When it commits after its start, and how much later it ends with which result.
type Plan = (u64, u64, Output);

type Attempt = Pin<Box<dyn Future<Output = Output>>>;

/// A race of attempts that each commit.
#[expect(clippy::type_complexity, reason = "the parts of a race")]
fn race(
    scenario: &Scenario,
    delay: u64,
    plans: impl IntoIterator<Item = Plan>,
) -> Race<
    Committing<
        impl Iterator<Item = Plan>,
        impl FnMut(&Plan, AttemptHandle) -> Attempt,
        Plan,
        Attempt,
    >,
    VirtualTimer,
> {
    let clock = scenario.clock.clone();
    let run = move |&(decided, rest, result): &Plan, mut handle: AttemptHandle| {
        let clock = clock.clone();
        let attempt = async move {
            clock.sleep(ms(decided)).await;
            handle.commit().await;
            clock.sleep(ms(rest)).await;
            result
        };
        attempt.boxed_local()
    };
    Race::at(scenario.clock.timer()).committing(ms(delay), run, plans)
}

#[test]
fn race_ends_for_the_attempt_that_commits_first() {
    let scenario = Scenario::new();
    // By completion the first would win, at 110.
    let plans = [(100, 10, Ok("0")), (30, 500, Ok("1")), (0, 0, Ok("2"))];
    let race = race(&scenario, 50, plans).on_event(scenario.record());
    let won = scenario.run(race.first_ok()).unwrap();
    assert_eq!((won.index, won.output, won.elapsed), (1, "1", ms(580)));
    assert_eq!(
        scenario.starts(),
        [0, 50],
        "nothing starts after the commit"
    );
    assert_eq!(scenario.all(EventKind::Committed), [(1, 80)]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 80)]);
    assert_eq!(scenario.all(EventKind::Won), [(1, 580)]);
}

#[test]
fn attempt_that_never_commits_races_as_ever() {
    let scenario = Scenario::new();
    let clock = scenario.clock.clone();
    let run = |&millis: &u64, _: AttemptHandle| clock.sleep(ms(millis));
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, [100, 20]);
    let won = scenario.run(race.first()).unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(70)));
}

#[test]
fn code_after_a_commit_runs_in_one_attempt() {
    let scenario = Scenario::new();
    let (reached, dropped) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(vec![])));
    let run = |&index: &usize, mut handle: AttemptHandle| {
        let (clock, reached, dropped) = (scenario.clock.clone(), reached.clone(), dropped.clone());
        async move {
            let _dropped = Dropped(dropped, index);
            clock.sleep(ms(10)).await; // all commit at the same instant
            handle.commit().await;
            reached.set(reached.get() + 1);
            clock.sleep(ms(10)).await;
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, 0..5);
    let won = scenario.run(race.first()).unwrap();
    assert_eq!((won.index, reached.get()), (0, 1));
    assert_eq!(*dropped.borrow(), [1, 2, 3, 4, 0]);
}

struct Dropped(Rc<RefCell<Vec<usize>>>, usize);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

#[test]
fn output_that_is_ready_in_the_poll_of_the_commit_is_dropped() {
    let scenario = Scenario::new();
    let run = |&commits: &bool, mut handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(10)).await;
            if commits {
                handle.commit().await;
                clock.sleep(ms(10)).await;
            }
            commits
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, [true, false]);
    let race = race.on_event(scenario.record());
    assert!(scenario.run(race.first()).unwrap().output);
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 10)]);
    assert_eq!(scenario.count(EventKind::Finished), 0);
}

#[test]
fn output_that_is_ready_in_the_poll_of_a_start_that_commits_is_dropped() {
    let scenario = Scenario::new();
    let run = |_: &usize, mut handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            if handle.index() == 0 {
                yield_now().await; // ready when it is polled again, beside the second start
                return 0;
            }
            handle.commit().await;
            clock.sleep(ms(10)).await;
            1
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, 0..2);
    let mut race = race.on_event(scenario.record());
    let outputs = scenario.run(async {
        let mut outputs = vec![];
        while let Some((_, output)) = race.next().await {
            outputs.push(output);
        }
        outputs
    });
    assert_eq!(outputs, [1]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 0)]);
}

#[test]
fn error_after_a_commit_ends_the_race() {
    for on_failure in [
        OnFailure::Wait,
        OnFailure::IfLatest,
        OnFailure::IfIdle,
        OnFailure::Any,
    ] {
        let scenario = Scenario::new();
        let plans = [(20, 40, Err("broken")), (0, 0, Ok("1"))];
        let race = race(&scenario, 50, plans).on_failure(on_failure);
        let error = scenario.run(race.first_ok()).unwrap_err();
        assert!(matches!(error, RaceError::Fatal { .. }), "{error:?}");
        assert_eq!(error.to_string(), "attempt #0 failed fatally: #0: broken");
        assert_eq!(scenario.millis(), 60);
    }
}

#[test]
fn classifier_cannot_go_on_after_a_commit() {
    let verdicts = [
        Verdict::Retryable,
        Verdict::NotBefore(ms(5)),
        Verdict::NoMoreStarts,
    ];
    for verdict in verdicts {
        let scenario = Scenario::new();
        let plans = [(20, 40, Err("broken")), (0, 0, Ok("1"))];
        let race = race(&scenario, 500, plans);
        let error = scenario.run(race.first_ok_by(|_| verdict)).unwrap_err();
        assert!(matches!(error, RaceError::Fatal { .. }), "{error:?}");
    }
}

#[test]
fn deadline_ends_with_the_commit_and_the_attempt_timeout_does_not() {
    let scenario = Scenario::new();
    let won = race(&scenario, 50, [(20, 500, Ok("0"))]).deadline(ms(100));
    assert_eq!(scenario.run(won.first_ok()).unwrap().elapsed, ms(520));

    let late = race(&scenario, 50, [(101, 0, Ok("0"))]).deadline(ms(100));
    let error = scenario.run(late.first_ok()).unwrap_err();
    assert!(matches!(error, RaceError::Deadline { .. }));

    let timed_out = race(&scenario, 50, [(20, 500, Ok("0")), (500, 0, Ok("1"))]);
    let timed_out = timed_out.deadline(ms(100)).attempt_timeout(ms(300));
    let error = scenario.run(timed_out.first_ok()).unwrap_err();
    let RaceError::Fatal { failed, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(failed[0].failure, Failure::TimedOut(ms(300)));
}

#[test]
fn stream_ends_after_the_attempt_that_committed() {
    let scenario = Scenario::new();
    let plans = [(100, 0, Ok("0")), (10, 30, Ok("1")), (0, 0, Ok("2"))];
    let mut race = race(&scenario, 50, plans);
    scenario.run(async {
        assert_eq!(race.next().await.map(|(_, output)| output), Some(Ok("1")));
        assert_eq!(race.next().await, None);
    });
    assert_eq!(scenario.millis(), 90);
}

#[test]
fn as_many_attempts_commit_as_a_quorum_needs() {
    let scenario = Scenario::new();
    let plans = [
        (10, 200, Ok("0")),
        (90, 0, Ok("1")),
        (20, 20, Ok("2")),
        (70, 0, Ok("3")),
    ];
    let race = race(&scenario, 0, plans).on_event(scenario.record());
    let won = scenario.run(race.quorum(2)).unwrap();
    assert_eq!([won[0].index, won[1].index], [2, 0]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 20), (3, 20)]);
}

#[test]
fn attempt_that_a_quorum_accepts_counts_as_one_that_committed() {
    let scenario = Scenario::new();
    let run = |&(commit, end): &(Option<u64>, u64), mut handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            let commit_at = commit.unwrap_or(end);
            clock.sleep(ms(commit_at)).await;
            if commit.is_some() {
                handle.commit().await;
            }
            clock.sleep(ms(end - commit_at)).await;
            Ok::<_, &str>(())
        }
    };
    // The first commits, the second is accepted: both places are taken before the others end.
    let plans = [(Some(10), 200), (None, 20), (None, 30), (Some(25), 40)];
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, plans);
    let race = race.on_event(scenario.record());
    let won = scenario.run(race.quorum(2)).unwrap();
    assert_eq!([won[0].index, won[1].index], [1, 0]);
    assert_eq!(scenario.all(EventKind::Cancelled), [(2, 20), (3, 20)]);
}

#[test]
fn error_after_a_commit_ends_a_quorum() {
    let scenario = Scenario::new();
    let plans = [(10, 10, Err("broken")), (90, 0, Ok("1")), (90, 0, Ok("2"))];
    let error = scenario
        .run(race(&scenario, 0, plans).quorum(2))
        .unwrap_err();
    assert!(matches!(error, QuorumError::Fatal(_)), "{error:?}");
    assert_eq!(scenario.millis(), 20);
}

#[test]
fn kept_losers_run_on_unless_they_try_to_commit() {
    let scenario = Scenario::new();
    let run = |&(commit, end): &(Option<u64>, u64), mut handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            if let Some(commit) = commit {
                clock.sleep(ms(commit)).await;
                handle.commit().await;
            }
            clock.sleep(ms(end)).await;
            Ok::<_, &str>(end)
        }
    };
    // The winner; a loser that ends before it does; one that would commit; one that is kept; one
    // that would commit after the race is decided.
    let plans = [
        (Some(10), 90),
        (None, 50),
        (Some(60), 0),
        (None, 300),
        (Some(200), 0),
    ];
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, plans);
    let race = race.on_event(scenario.record());
    let late = scenario.run(async {
        let (answer, mut losers) = race.first_ok().keep_race().await;
        assert_eq!(answer.unwrap().index, 0);
        let mut late = vec![];
        while let Some(((_, end), _)) = losers.next().await {
            late.push(end);
        }
        late
    });
    assert_eq!(late, [300]);
    assert_eq!(
        scenario.all(EventKind::Cancelled),
        [(1, 50), (2, 60), (4, 200)]
    );
    assert_eq!(scenario.all(EventKind::Finished), [(3, 300)]);
}

/// The race was decided without a winner, so there is nothing to commit for.
#[test]
fn commits_after_a_fatal_error_end_nothing() {
    let scenario = Scenario::new();
    let run = |&(commit, end): &(u64, Option<&'static str>), mut handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(commit)).await;
            match end {
                Some(error) => Err(error),
                None => {
                    handle.commit().await;
                    clock.sleep(ms(5)).await;
                    Ok(commit)
                }
            }
        }
    };
    let plans = [(10, Some("fatal")), (20, None), (30, None), (22, None)];
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, plans);
    let race = race.on_event(scenario.record());
    let late = scenario.run(async {
        let decision = race.first_ok_by(|_| Verdict::Fatal).keep_race();
        let (answer, mut losers) = decision.await;
        assert!(answer.is_err());
        let mut late = vec![];
        while let Some((_, output)) = losers.next().await {
            late.push(output);
        }
        late
    });
    assert_eq!(late, [Ok(20), Ok(22), Ok(30)]);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn running_attempts_are_no_certain_completions() {
    use futures::Stream as _;
    let scenario = Scenario::new();
    let mut race = race(&scenario, 0, [(10, 10, Ok("0")), (90, 0, Ok("1"))]);
    scenario.run(async {
        assert!(futures::poll!(race.next()).is_pending());
        assert_eq!((race.len(), race.size_hint()), (2, (0, Some(2))));
    });
}

#[test]
fn candidate_of_a_decided_race_is_dropped_with_it() {
    let scenario = Scenario::new();
    let drawn = Rc::new(());
    let args = [drawn.clone(), drawn.clone(), drawn.clone()];
    let run = |arg: &Rc<()>, mut handle: AttemptHandle| {
        let (clock, arg) = (scenario.clock.clone(), arg.clone());
        async move {
            clock.sleep(ms(10)).await;
            handle.commit().await;
            clock.sleep(ms(100)).await;
            Rc::strong_count(&arg)
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, args);
    let won = scenario.run(race.first()).unwrap();
    // The first attempt, its argument, this test, and one that was not drawn yet.
    assert_eq!(won.output, 4);
}
