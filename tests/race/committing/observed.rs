use std::sync::atomic::{AtomicUsize, Ordering};

use race::{Adaptive, Counters, EventKind, Staircase};

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
        race::OnEvent::new(|event| {
            race::Observer::observe(&mut picture, event);
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
        race::Observer::observe(&mut *picture.borrow_mut(), event);
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

#[test]
fn commit_in_an_attempt_wakes_nothing() {
    let scenario = Scenario::new();
    let polls = AtomicUsize::new(0);
    let mut first = Box::pin(race(&scenario, 50, [(0, 30, Ok("0"))]).first_ok());
    let counted = std::future::poll_fn(|cx| {
        polls.fetch_add(1, Ordering::Relaxed);
        first.as_mut().poll(cx)
    });
    scenario.run(counted).unwrap();
    // The first poll commits, the second finishes.
    assert_eq!(polls.load(Ordering::Relaxed), 2);
}
