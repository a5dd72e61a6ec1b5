//! Facts from Polly's HedgingResilienceStrategyTests.cs.

use std::{cell::Cell, rc::Rc};

use futures::{StreamExt, stream::FuturesUnordered};
use race::{Steps, core::Race, observe::EventKind};

use crate::{
    probe::ms,
    scenario::{Scenario, errors, won},
};

#[test]
fn k1_endless_delay_is_fallback_with_one_at_a_time() {
    let scenario = Scenario::new();
    let candidates = [(30, Err("E0")), (20, Err("E1")), (10, Ok("index 2"))];
    let race = scenario.race(|_: usize| None, candidates);
    let ended = scenario.run(race.first_ok());
    assert_eq!(won(&ended), (2, 60));
    assert_eq!(scenario.starts(), [0, 30, 50]);
}

#[test]
fn k2_zero_delay_starts_all_at_once() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(30, Ok("0")), (20, Ok("1")), (10, Ok("2"))]);
    let ended = scenario.run(race.first_ok());
    assert_eq!((won(&ended), scenario.starts()), ((2, 10), vec![0; 3]));
}

#[test]
fn k3_errors_are_in_the_order_in_which_they_happened() {
    let candidates = [(90, Err("original")), (2, Err("E1")), (1, Err("E2"))];
    let sequential = Steps::new([]);
    let parallel = ms(0);
    let staggered = ms(10);
    let scenario = Scenario::new();
    let ended = scenario.run(scenario.race(sequential, candidates).first_ok());
    assert_eq!(errors(ended), ["original", "E1", "E2"]);
    let ended = scenario.run(scenario.race(parallel, candidates).first_ok());
    assert_eq!(errors(ended), ["E2", "E1", "original"]);
    let ended = scenario.run(scenario.race(staggered, candidates).first_ok());
    assert_eq!(errors(ended), ["E1", "E2", "original"]);
}

/// Records its drop.
struct Resource(u8, Rc<Cell<u8>>);

impl Drop for Resource {
    fn drop(&mut self) {
        self.1.set(self.1.get() | 1 << self.0);
    }
}

#[test]
fn k4_outputs_of_losers_are_dropped_and_that_of_the_winner_is_not() {
    let scenario = Scenario::new();
    let dropped = Rc::new(Cell::new(0));
    let attempts = [(0u8, 10), (1, 10), (2, 90)].map(|(number, latency)| {
        let (sleep, resource) = (
            scenario.clock.sleep(ms(latency)),
            Resource(number, dropped.clone()),
        );
        async move {
            sleep.await;
            Ok::<_, ()>(resource)
        }
    });
    let race = Race::at(scenario.clock.timer()).of(ms(0), attempts);
    let won = scenario.run(race.first_ok()).unwrap();
    assert_eq!(dropped.get(), 0b110); // the second was ready, too
    drop(won);
    assert_eq!(dropped.get(), 0b111);
}

#[test]
fn k5_background_work_of_the_winner_continues() {
    let scenario = Scenario::new();
    let background = Rc::new(std::cell::RefCell::new(FuturesUnordered::new()));
    let attempts = [10, 90].map(|latency| {
        let (clock, background) = (scenario.clock.clone(), background.clone());
        async move {
            clock.sleep(ms(latency)).await;
            background.borrow_mut().push(clock.sleep(ms(50)));
            Ok::<_, ()>(())
        }
    });
    let race = Race::at(scenario.clock.timer()).of(ms(0), attempts);
    scenario.run(race.first_ok()).unwrap();
    let mut background = background.take();
    assert_eq!(scenario.run(background.next()), Some(()));
    assert_eq!((scenario.millis(), background.len()), (60, 0));
}

#[test]
fn k6_race_that_is_dropped_before_its_first_poll_starts_nothing() {
    let scenario = Scenario::new();
    drop(scenario.race(ms(0), [(0, Ok("0")); 3]).first_ok());
    assert_eq!(scenario.count(EventKind::Started), 0);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}
