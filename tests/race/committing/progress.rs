use race::{AttemptHandle, OnFailure, core::Race, observe::EventKind};

use crate::{probe::ms, scenario::Scenario};

type Output = Result<u64, &'static str>;

#[test]
fn progress_counts_the_delay_anew() {
    let scenario = Scenario::new();
    let run = |_: &u64, handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            if handle.index() == 0 {
                clock.sleep(ms(30)).await;
                handle.progress();
                clock.sleep(ms(40)).await;
                handle.progress();
            }
            clock.sleep(ms(500)).await;
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..3);
    let race = race.on_event(scenario.record());
    scenario.run(race.first()).unwrap();
    assert_eq!(scenario.starts(), [0, 120, 170]);
}

#[test]
fn progress_does_not_put_off_a_start_after_a_failure() {
    let scenario = Scenario::new();
    let run = |_: &u64, handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(30)).await;
            handle.progress();
            clock.sleep(ms(10)).await;
            if handle.index() == 0 {
                Err("refused")
            } else {
                Ok(handle.index())
            }
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..3);
    let race = race.on_event(scenario.record());
    scenario.run(race.first_ok()).unwrap();
    assert_eq!(scenario.starts(), [0, 40]);
}

/// Holds the start from 20 to `release`, and ends at `end`.
fn held(
    release: u64,
    end: u64,
    output: Output,
) -> (
    Scenario,
    impl FnMut(&u64, AttemptHandle) -> futures::future::LocalBoxFuture<'static, Output>,
) {
    use futures::FutureExt as _;
    let scenario = Scenario::new();
    let clock = scenario.clock.clone();
    let run = move |_: &u64, handle: AttemptHandle| {
        let clock = clock.clone();
        let attempt = async move {
            if handle.index() > 0 {
                clock.sleep(ms(500)).await;
                return Ok(1);
            }
            clock.sleep(ms(20)).await;
            let hold = handle.hold();
            clock.sleep(ms(release - 20)).await;
            drop(hold);
            clock.sleep(ms(end - release)).await;
            output
        };
        attempt.boxed_local()
    };
    (scenario, run)
}

#[test]
fn held_start_happens_at_its_release_or_at_its_time() {
    for (release, start) in [(30, 50), (50, 50), (90, 90), (200, 200)] {
        let (scenario, run) = held(release, 400, Ok(0));
        let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..2);
        let race = race.on_event(scenario.record());
        scenario.run(race.first_ok()).unwrap();
        assert_eq!(scenario.starts(), [0, start]);
    }
}

#[test]
fn hold_ends_with_its_attempt() {
    for on_failure in [OnFailure::Any, OnFailure::Wait] {
        let (scenario, run) = held(100, 100, Err("failed"));
        let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..2);
        let race = race.on_failure(on_failure).on_event(scenario.record());
        scenario.run(race.first_ok()).unwrap();
        assert_eq!(scenario.starts(), [0, 100]);
    }
    // It is cancelled while it holds.
    let (scenario, run) = held(100, 100, Ok(0));
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..2);
    let race = race.attempt_timeout(ms(70)).on_event(scenario.record());
    assert!(scenario.run(race.first()).is_none());
    assert_eq!(scenario.starts(), [0, 70]);
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 70), (1, 140)]);
}

#[test]
fn hold_kept_after_its_attempt_holds_nothing() {
    let scenario = Scenario::new();
    let mut kept = None;
    let run = |_: &u64, handle: AttemptHandle| {
        if handle.index() == 0 {
            kept = Some(handle.hold());
        }
        scenario.clock.sleep(ms(80))
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..2);
    let mut race = race.on_event(scenario.record());
    scenario.run(async {
        assert!(race.next().await.is_some());
        assert!(race.next().await.is_some());
        assert!(race.next().await.is_none());
    });
    assert_eq!(scenario.starts(), [0, 80]);
}

#[test]
fn failure_starts_the_next_attempt_beside_a_hold() {
    let scenario = Scenario::new();
    let run = |_: &u64, handle: AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            let millis = [60, 40, 500][handle.index()];
            clock.sleep(ms(millis)).await;
            if handle.index() == 1 {
                return Err("refused");
            }
            let _hold = handle.hold();
            clock.sleep(ms(240)).await;
            Ok(())
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..5);
    let race = race.on_failure(OnFailure::Any).on_event(scenario.record());
    assert_eq!(scenario.run(race.first_ok()).unwrap().elapsed, ms(300));
    assert_eq!(scenario.starts(), [0, 50, 90], "no start by time after 60");
}
