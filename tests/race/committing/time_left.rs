//! The time that an attempt has left when it starts.

use std::{cell::RefCell, time::Duration};

use race::{AttemptHandle, RaceOptions, core::Race};

use crate::{probe::ms, scenario::Scenario};

/// Returns the time left of each attempt of a race with a delay of 50 ms. The attempts fail after
/// `ends`, in milliseconds; one that ends at 0 does so in its first poll.
fn time_left(options: RaceOptions, ends: &[u64]) -> Vec<Option<Duration>> {
    let (scenario, seen) = (Scenario::new(), RefCell::new(Vec::new()));
    let run = |&end: &u64, handle: AttemptHandle| {
        seen.borrow_mut().push(handle.time_left());
        let clock = scenario.clock.clone();
        async move {
            let at_start = handle.time_left();
            if end > 0 {
                clock.sleep(ms(end)).await;
            }
            assert_eq!(handle.time_left(), at_start, "it is that of the start");
            Err::<u64, _>("refused")
        }
    };
    let race = Race::at(scenario.clock.timer())
        .committing(ms(50), run, ends.iter().copied())
        .options(&options);
    scenario.run(race.first_ok()).unwrap_err();
    seen.into_inner()
}

#[test]
fn time_left_is_the_shorter_of_timeout_and_deadline() {
    let none = RaceOptions::new();
    let timeout = none.clone().attempt_timeout(ms(400));
    let deadline = none.clone().deadline(ms(420));
    let both = timeout.clone().deadline(ms(420));
    let ends = [500, 500, 500];
    for (options, expected) in [
        (none.clone(), [None; 3]),
        (timeout, [400, 400, 400].map(|left| Some(ms(left)))),
        (deadline, [420, 370, 320].map(|left| Some(ms(left)))),
        (both, [400, 370, 320].map(|left| Some(ms(left)))),
        (none.clone().deadline(Duration::MAX), [None; 3]),
        (none.attempt_timeout(Duration::MAX), [None; 3]),
    ] {
        assert_eq!(time_left(options.clone(), &ends), expected, "{options:?}");
    }
}

#[test]
fn deadline_counts_from_the_first_pending_poll() {
    let options = RaceOptions::new().deadline(ms(100));
    let expected = [100, 100, 90].map(|left| Some(ms(left)));
    assert_eq!(time_left(options, &[0, 10, 5]), expected);
}
