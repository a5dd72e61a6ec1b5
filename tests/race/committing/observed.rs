use race::{
    Adaptive,
    observe::{Counters, EventKind, Staircase},
};

use super::race;
use crate::{probe::ms, scenario::Scenario};

#[test]
fn events_after_a_commit_say_so() {
    let scenario = Scenario::new();
    let race = race(&scenario, 50, [(20, 40, Ok("0")), (0, 0, Ok("1"))]);
    let race = race.on_event(scenario.record());
    scenario.run(race.first_ok()).unwrap();
    let events = scenario.events();
    let events: Vec<_> = events
        .iter()
        .map(|it| (it.kind, it.committed, it.ran))
        .collect();
    let expected = [
        (EventKind::Started, false, ms(0)),
        (EventKind::Committed, true, ms(20)),
        (EventKind::Won, true, ms(60)),
    ];
    assert_eq!(events, expected);
}

#[test]
fn commits_are_counted_and_drawn() {
    let scenario = Scenario::new();
    let (counters, mut picture) = (Counters::new(), Staircase::new());
    let observed = race(&scenario, 50, [(100, 0, Ok("0")), (10, 30, Ok("1"))]);
    let observed = observed.observer((
        &counters,
        race::observe::OnEvent::new(|event| {
            race::observe::Observer::observe(&mut picture, event);
        }),
    ));
    scenario.run(observed.first_ok()).unwrap();
    let counts = counters.counts();
    assert_eq!((counts.committed, counts.wins, counts.helped), (1, 1, 1));
    assert_eq!((counts.cancelled, counts.wasted), (1, ms(60)));
    assert!(counts.to_string().contains("1 committed"), "{counts}");
    assert_eq!(picture.outcome(1), "won after 90 ms");
}

#[test]
fn running_attempt_that_committed_is_drawn_as_such() {
    let scenario = Scenario::new();
    let picture = std::cell::RefCell::new(Staircase::new());
    let observed = race(&scenario, 50, [(10, 300, Ok("0"))]);
    let observed = observed.on_event(|event| {
        race::observe::Observer::observe(&mut *picture.borrow_mut(), event);
        if event.kind == EventKind::Committed {
            assert_eq!(picture.borrow().outcome(0), "committed after 10 ms");
        }
    });
    scenario.run(observed.first_ok()).unwrap();
}

#[test]
fn adaptive_delay_learns_the_time_to_the_commit() {
    let scenario = Scenario::new();
    let adaptive = Adaptive::quantile(0.5).warm_up(1);
    for _ in 0..10 {
        let observed = race(&scenario, 50, [(20, 1_000, Ok("0"))]);
        scenario
            .run(observed.observer(&adaptive).first_ok())
            .unwrap();
    }
    assert_eq!(adaptive.samples(), 10, "one sample for each attempt");
    let delay = adaptive.delay().unwrap().as_millis();
    assert_eq!(delay, 20);
}

/// Runs a future to its end. Returns when it was polled.
fn polls<F: Future<Output: std::fmt::Debug>>(scenario: &Scenario, future: F) -> Vec<u64> {
    let (mut future, mut polls) = (std::pin::pin!(future), vec![]);
    scenario.run(std::future::poll_fn(|cx| {
        polls.push(scenario.millis());
        future.as_mut().poll(cx)
    }));
    polls
}

#[test]
fn commit_in_an_attempt_wakes_nothing() {
    let scenario = Scenario::new();
    let first = race(&scenario, 50, [(0, 30, Ok("0"))]).first_ok();
    // The first poll commits, the second finishes.
    assert_eq!(polls(&scenario, first), [0, 30]);
}

#[test]
fn nothing_wakes_for_the_losers_after_a_commit() {
    let scenario = Scenario::new();
    let plans = [(400, 0, Ok("0")), (10, 80, Ok("1")), (0, 0, Ok("2"))];
    let race = race(&scenario, 50, plans);
    let first = race.attempt_timeout(ms(100)).deadline(ms(120)).first_ok();
    // Neither for the third start at 100, nor for the first timeout, nor for the deadline.
    assert_eq!(polls(&scenario, first), [0, 50, 60, 140]);
}
