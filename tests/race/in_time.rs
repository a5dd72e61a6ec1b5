//! A race under a deadline is over when nothing is left to run, and not when the deadline comes.

use std::{future::Future, time::Duration};

use race::{OnFailure, RaceError, VirtualClock, core::Race};

const STEP: Duration = Duration::from_millis(5);
const DEADLINE: Duration = Duration::from_secs(10);

fn attempts(clock: &VirtualClock) -> [impl Future<Output = u64> + use<>; 3] {
    [100, 20, 60].map(|millis| {
        let sleep = clock.sleep(Duration::from_millis(millis));
        async move {
            sleep.await;
            millis
        }
    })
}

#[test]
fn a_drained_race_ends_with_its_last_loser() {
    let clock = VirtualClock::new();
    let ok = attempts(&clock).map(|attempt| async move { Ok::<_, ()>(attempt.await) });
    let race = Race::of_with(clock.timer(), STEP, ok);
    let drained = clock.run(async {
        let (answer, mut losers) = race.first_ok_then_drain().deadline(DEADLINE).await;
        let mut outputs = vec![answer.unwrap().output];
        while let Some((_, late)) = losers.next().await {
            outputs.extend(late);
        }
        outputs
    });
    assert_eq!(drained.unwrap(), [20, 60, 100]);
    assert_eq!(clock.elapsed(), Duration::from_millis(100));
}

#[test]
fn all_have_failed_when_the_last_has() {
    let rules = [
        OnFailure::Wait,
        OnFailure::IfLatest,
        OnFailure::IfIdle,
        OnFailure::Any,
    ];
    for rule in rules {
        let clock = VirtualClock::new();
        let err = attempts(&clock).map(|attempt| async move { Err::<(), _>(attempt.await) });
        let race = Race::of_with(clock.timer(), STEP, err).on_failure(rule);
        let failed = clock.run(race.first_ok().deadline(DEADLINE)).unwrap();
        assert!(matches!(failed, Err(RaceError::AllFailed(_))), "{rule:?}");
        assert_eq!(clock.elapsed(), Duration::from_millis(100), "{rule:?}");
    }
}
