//! The result-aware finishers of the race without an allocator.

use std::{
    cell::Cell,
    future::pending,
    io,
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    time::Duration,
};

use race::{
    Backoff, Failure, InlineRace, InlineRaceError, OnFailure, Verdict,
    core::placement::{Inline, Placement},
    observe::Refusal,
    outcome::{GenericRaceError, InlineFailures},
    policy::Permit,
    test::VirtualClock,
};

use crate::{probe::ms, scenario::Candidate};

/// A race with room for two attempts.
macro_rules! race_of {
    ($clock:ident, $delay:expr, $script:expr) => {{
        let run = |&(latency, outcome): &Candidate| {
            let sleep = $clock.sleep(ms(latency));
            async move {
                sleep.await;
                outcome
            }
        };
        InlineRace::<2, _, _, _>::at($clock.timer()).new($delay, run, $script)
    }};
}

#[test]
fn failure_starts_the_next_attempt_at_once() {
    let clock = VirtualClock::new();
    let race = race_of!(
        clock,
        Duration::MAX,
        [(30, Err("refused")), (5, Ok("fine"))]
    );
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.output, won.elapsed), (1, "fine", ms(35)));
}

#[test]
fn latest_failures_are_kept_and_all_are_counted() {
    let clock = VirtualClock::new();
    let fails = (10, Err("refused"));
    let race = race_of!(
        clock,
        Duration::MAX,
        [fails, fails, fails, (10, Err("no route"))]
    );
    let error: InlineRaceError<_, &str, 2> = clock.run(race.first_ok()).unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 4 attempts failed: 2 earlier failures omitted; #2: refused; #3: no route"
    );
    let indices = error
        .failed()
        .iter()
        .map(|failed| (failed.index, failed.elapsed));
    assert!(indices.eq([(2, ms(30)), (3, ms(40))]));
    let failures: InlineFailures<_, _, 2> = error.clone().into_failed();
    assert_eq!((failures.total(), failures.len()), (4, 2));
    assert_eq!(
        failures.last().map(|failed| failed.arg),
        Some((10, Err("no route")))
    );
    assert_eq!((&failures).into_iter().count(), 2);
    assert!(
        failures
            .into_iter()
            .map(|failed| failed.index)
            .rev()
            .eq([3, 2])
    );
    assert_eq!(error.clone().into_errors(), ["refused", "no route"]);
    assert_eq!(error.into_last_error(), Some("no route"));
}

#[test]
fn error_before_the_latest_failures_is_omitted_and_counted() {
    let clock = VirtualClock::new();
    let hangs = (100, Ok("late"));
    let race = race_of!(clock, ms(30), [(10, Err("refused")), hangs, hangs]);
    let error = clock.run(race.attempt_timeout(ms(20)).first_ok());
    let error = error.unwrap().unwrap_err();
    assert_eq!(error.clone().into_failed().total(), 3);
    assert_eq!(error.into_last_error(), None);
}

#[test]
fn panic_in_the_drop_of_an_omitted_failure_leaves_the_race_usable() {
    struct Failing<'a>(usize, &'a Cell<usize>);
    impl Drop for Failing<'_> {
        fn drop(&mut self) {
            self.1.set(self.1.get() + 1);
            assert!(self.0 != 1, "the drop of an error panics");
        }
    }
    let (clock, dropped) = (VirtualClock::new(), Cell::new(0));
    let run = |index| {
        let error = Failing(index, &dropped);
        async { Err::<(), _>(error) }
    };
    let race = InlineRace::<1, _, _>::at(clock.timer())
        .from_fn(ms(5), run)
        .max_attempts(4);
    let mut decision = Box::pin(race.first_ok());
    // The failure of #2 evicts that of #1 and is lost with it.
    let poll = || clock.run(decision.as_mut());
    assert!(panic::catch_unwind(AssertUnwindSafe(poll)).is_err());
    assert_eq!(dropped.get(), 3);
    let failures = clock.run(decision).unwrap().unwrap_err().into_failed();
    assert_eq!((failures.total(), failures[0].index), (4, 3));
    drop(failures);
    assert_eq!(dropped.get(), 4);
}

#[test]
fn one_omitted_failure_is_said_in_the_singular() {
    let clock = VirtualClock::new();
    let attempts = [0, 1].map(|_| async { Err::<(), _>(io::Error::other("refused")) });
    let race = InlineRace::<1, _, _>::at(clock.timer()).of(ms(0), attempts);
    let error = clock.run(race.first_ok()).unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: 1 earlier failure omitted; #1: refused"
    );
    let boxed = InlineRaceError::boxed(error);
    assert_eq!(
        boxed.to_string(),
        "all 2 attempts failed: 1 earlier failure omitted; #1: refused"
    );
    assert_eq!(boxed.last_error().unwrap().to_string(), "refused");
}

#[test]
fn attempts_time_out_and_make_room() {
    let clock = VirtualClock::new();
    let race = race_of!(
        clock,
        ms(10),
        [(900, Ok("")), (900, Ok("")), (40, Ok("fine"))]
    );
    let race = race.attempt_timeout(ms(50)).on_failure(OnFailure::Any);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.output, won.elapsed), (2, "fine", ms(90)));

    let clock = VirtualClock::new();
    let race = race_of!(clock, ms(10), [(900, Ok("")), (30, Err("refused"))]);
    let error = clock
        .run(race.attempt_timeout(ms(50)).first_ok())
        .unwrap()
        .unwrap_err();
    let kinds = error.failed().iter().map(|failed| failed.failure);
    assert!(kinds.eq([Failure::Error("refused"), Failure::TimedOut(ms(50))]));
    assert_eq!(clock.elapsed(), ms(50));
    assert_eq!(error.into_last_error(), Some("refused"));
}

#[test]
fn deadline_ends_the_race_with_the_failures_before_it() {
    let clock = VirtualClock::new();
    let race = race_of!(
        clock,
        ms(10),
        [(20, Err("refused")), (900, Ok("")), (900, Ok(""))]
    );
    let error = clock
        .run(race.deadline(ms(100)).first_ok())
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, GenericRaceError::Deadline { .. }));
    assert_eq!(
        error.to_string(),
        "no attempt won before the deadline: #0: refused"
    );
    assert_eq!(clock.elapsed(), ms(100));
}

#[test]
fn verdicts_end_delay_and_stop_the_race() {
    let clock = VirtualClock::new();
    let race = race_of!(clock, ms(10), [(20, Err("fatal")), (900, Ok(""))]);
    let fatal = race.first_ok_by(|_| Verdict::Fatal);
    let error = clock.run(fatal).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "attempt #0 failed fatally: #0: fatal");
    assert_eq!(clock.elapsed(), ms(20));

    let clock = VirtualClock::new();
    let race = race_of!(clock, ms(10), [(5, Err("busy")), (5, Ok("fine"))]);
    let later = race.first_ok_by(|_| Verdict::NotBefore(ms(100)));
    assert_eq!(clock.run(later).unwrap().unwrap().elapsed, ms(110));

    let clock = VirtualClock::new();
    let race = race_of!(clock, Duration::MAX, [(5, Err("stop")), (5, Ok("fine"))]);
    let stops = race.first_by(|output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::NoMoreStarts,
    });
    let GenericRaceError::AllFailed {
        failed, refused, ..
    } = clock.run(stops).unwrap().unwrap_err()
    else {
        panic!("the race ends when nothing may start");
    };
    assert_eq!((failed.total(), refused), (1, Some(Refusal::Verdict)));
}

#[test]
fn backoff_and_gates_apply() {
    let clock = VirtualClock::new();
    let asked = Cell::new(0);
    let fails = (0, Err("refused"));
    let race = race_of!(clock, Backoff::new(ms(100)), [fails, fails, fails, fails]);
    let race = race.gate(|state| {
        asked.set(asked.get() + 1);
        match state.index {
            3 => Permit::Stop,
            _ => Permit::Start,
        }
    });
    let error = clock.run(race.first_ok()).unwrap().unwrap_err();
    assert_eq!((asked.get(), clock.elapsed()), (3, ms(700)));
    let GenericRaceError::AllFailed {
        failed, refused, ..
    } = error
    else {
        panic!("the gate refused the fourth attempt");
    };
    assert_eq!((failed.total(), refused), (3, Some(Refusal::Gate)));
}

#[test]
fn race_without_candidates_fails_without_failures() {
    let clock = VirtualClock::new();
    let error = clock
        .run(race_of!(clock, ms(10), []).first_ok())
        .unwrap()
        .unwrap_err();
    assert_eq!(error, GenericRaceError::NoCandidates);
    assert_eq!(
        error.to_string(),
        "no candidates to race: provide at least one"
    );
    assert!(error.failed().is_empty());
    assert_eq!(error.into_failed().total(), 0);
}

#[test]
fn losers_of_a_race_that_is_unpin_go_on() {
    let clock = VirtualClock::new();
    let run = |&latency: &u64| {
        let sleep = clock.sleep(ms(latency));
        Box::pin(async move {
            sleep.await;
            Ok::<_, ()>(())
        })
    };
    let race = InlineRace::<2, _, _>::at(clock.timer()).new(ms(10), run, [100, 20]);
    let (won, mut race) = clock.run(race.first_ok().keep_race()).unwrap();
    assert_eq!(won.unwrap().arg, 20);
    assert_eq!(
        clock.run(Pin::new(&mut race).next()),
        Ok(Some((100, Ok(()))))
    );
}

#[test]
fn error_is_the_same_with_and_without_an_allocator() {
    fn same<T>(_: &T, _: &T) {}
    let clock = VirtualClock::new();
    let attempts = [pending::<Result<(), io::Error>>()];
    let race = InlineRace::<3, _, _>::at(clock.timer())
        .of(ms(10), attempts)
        .deadline(ms(50));
    let error: InlineRaceError<usize, io::Error, 3> =
        clock.run(race.first_ok()).unwrap().unwrap_err();
    let failures = <Inline<3> as Placement>::Failures::<usize, io::Error>::default();
    same(&error.into_failed(), &failures);
}

#[test]
fn finished_race_can_be_spawned_and_boxed() {
    let clock = VirtualClock::new();
    let timer = clock.timer();
    let task: Pin<Box<dyn Future<Output = bool> + Send>> = Box::pin(async move {
        let servers = ["one", "two"].map(String::from);
        let run = |server: &String| {
            let len = server.len();
            async move { Err::<(), Box<dyn std::error::Error + Send + Sync>>(len.to_string().into()) }
        };
        let race = InlineRace::<2, _, _>::at(timer).new(ms(10), run, servers);
        let race = race.attempt_timeout(ms(100)).deadline(ms(500));
        race.first_ok_by(|_| Verdict::Retryable).await.is_err()
    });
    assert_eq!(clock.run(task), Ok(true));
}
