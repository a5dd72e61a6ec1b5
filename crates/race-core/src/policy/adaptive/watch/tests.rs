use std::{cell::Cell, sync::atomic::Ordering, vec::Vec};

use super::*;
use crate::{
    Adaptive, Race,
    test::{VirtualClock, VirtualSleep},
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An [`Adaptive`] that hedges 6 in 10 of the attempts past 10 ms. One in a hundred lasts so long.
fn trained() -> Adaptive {
    trained_with_random_seed().seed(0)
}

fn trained_with_random_seed() -> Adaptive {
    let adaptive = Adaptive::percentile(99.5).extra_load(0.6).without_budget();
    for sample in 0..2_000 {
        let millis = match sample % 100 {
            0 => 1_000,
            _ => 10,
        };
        adaptive.record(Sample::Exact(ms(millis)));
    }
    let delay = adaptive.delay().unwrap();
    assert!(ms(10) <= delay && delay < ms(11), "{delay:?}");
    assert!((adaptive.share() - 0.6).abs() < 0.05, "{adaptive:?}");
    // It learns no more.
    adaptive.due.store(u64::MAX, Ordering::Relaxed);
    adaptive
}

/// Runs a race, and returns how many attempts it started.
fn run(adaptive: &Adaptive, millis: &[u64]) -> usize {
    let clock = VirtualClock::new();
    let started = Cell::new(0);
    let attempt = |index: usize| -> VirtualSleep {
        started.set(started.get() + 1);
        clock.sleep(ms(millis[index]))
    };
    let race = Race::at(clock.timer())
        .from_fn(adaptive, attempt)
        .max_attempts(millis.len());
    clock.run(race.first()).unwrap();
    started.get()
}

/// Returns the numbers of races past the delay that won the draw, and that lost it.
fn groups(adaptive: &Adaptive) -> [u64; 2] {
    adaptive.learner.as_ref().unwrap().groups()
}

#[test]
fn races_past_the_delay_are_compared_by_their_draw() {
    let adaptive = trained();
    let mut hedged = 0;
    for _ in 0..1_000 {
        hedged += u64::from(run(&adaptive, &[50, 30]) == 2);
        assert_eq!(run(&adaptive, &[5, 5]), 1);
    }
    assert!((550..650).contains(&hedged), "{hedged}");
    assert_eq!(groups(&adaptive), [hedged, 1_000 - hedged]);
    let learner = adaptive.learner.as_ref().unwrap();
    assert_eq!(learner.hedges.recorded(), hedged);
    // Half of the races are past the delay, and 99.5 % take no longer than those without a hedge.
    let gain = adaptive.gain().unwrap();
    let [with, without] = [gain.hedged, gain.unhedged].map(|it| it.as_millis());
    assert!(
        (50..52).contains(&with) && (50..52).contains(&without),
        "{gain:?}"
    );
}

#[test]
fn the_gain_is_that_of_the_races_that_were_hedged() {
    let adaptive = trained();
    for _ in 0..100 {
        run(&adaptive, &[50, 30]);
        // Of 101 races one is past the delay, and four in ten of those are not hedged.
        for _ in 0..100 {
            run(&adaptive, &[5, 5]);
        }
    }
    let gain = adaptive.gain().unwrap();
    let [with, without] = [gain.hedged, gain.unhedged].map(|it| it.as_millis());
    assert!(
        (40..42).contains(&with) && (50..52).contains(&without),
        "{gain:?}"
    );
}

#[test]
fn what_the_budget_refuses_counts_as_what_was_drawn() {
    let adaptive = Adaptive {
        budget: Some(crate::Budget::per_mille(0)),
        ..trained()
    };
    let samples = adaptive.samples();
    for _ in 0..200 {
        assert_eq!(run(&adaptive, &[50, 30]), 1);
    }
    let [won, lost] = groups(&adaptive);
    assert_eq!(won + lost, 200);
    assert!((90..150).contains(&won), "{won}");
    assert_eq!(adaptive.samples(), samples + 200);
    let gain = adaptive.gain().unwrap();
    assert_eq!(gain.hedged, gain.unhedged);
}

#[test]
fn a_race_that_is_full_or_has_one_candidate_counts_as_what_was_drawn() {
    let adaptive = trained();
    let clock = VirtualClock::new();
    for number in 0..200 {
        let candidates = 1 + number % 3;
        let attempt = |_: usize| clock.sleep(ms(50));
        let race = Race::at(clock.timer())
            .from_fn(&adaptive, attempt)
            .max_attempts(candidates)
            .max_in_flight(2);
        clock.run(race.first()).unwrap();
    }
    let [won, lost] = groups(&adaptive);
    assert_eq!(won + lost, 200);
    assert!((90..150).contains(&won), "{won}");
}

#[test]
fn a_failure_starts_the_next_attempt_whatever_was_drawn() {
    let adaptive = trained();
    let clock = VirtualClock::new();
    for _ in 0..100 {
        let attempt = async |index: usize| {
            clock.sleep(ms(20)).await;
            match index {
                2 => Ok(()),
                _ => Err("no"),
            }
        };
        let race = Race::at(clock.timer())
            .from_fn(&adaptive, attempt)
            .max_attempts(3);
        let began = clock.now();
        clock.run(race.first_ok()).unwrap().unwrap();
        let took = clock.now().since(began);
        assert!(took <= ms(60), "{took:?}");
    }
    let [won, lost] = groups(&adaptive);
    assert_eq!(won + lost, 100);
}

#[test]
fn races_without_an_answer_take_longer_than_they_ran() {
    for ends_by_deadline in [true, false] {
        let adaptive = trained();
        let clock = VirtualClock::new();
        for _ in 0..100 {
            let attempt = async |_: usize| {
                clock.sleep(ms(40)).await;
                Err::<(), _>("no")
            };
            let race = Race::at(clock.timer())
                .from_fn(&adaptive, attempt)
                .max_attempts(2);
            let race = match ends_by_deadline {
                true => race.deadline(ms(30)),
                false => race,
            };
            clock.run(race.first_ok()).unwrap().unwrap_err();
        }
        let [won, lost] = groups(&adaptive);
        assert_eq!(won + lost, 100);
        assert!(won.min(lost) > 20);
        assert_eq!(
            adaptive.gain(),
            None,
            "nobody knows how long they would take"
        );
    }
}

#[test]
fn races_before_the_first_rule_are_no_comparison() {
    let adaptive = Adaptive::percentile(99.0)
        .extra_load(1.0)
        .initial(ms(10))
        .without_budget();
    for _ in 0..50 {
        assert_eq!(run(&adaptive, &[50, 30]), 2);
    }
    assert_eq!(groups(&adaptive), [0, 0]);
}

#[test]
fn plans_are_drawn_when_races_are_made() {
    let draws = |seed| -> Vec<bool> {
        let adaptive = trained().seed(seed);
        (0..64).map(|_| adaptive.plan().unwrap().hedges).collect()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}

#[test]
fn clients_do_not_draw_alike() {
    let draws = || -> Vec<bool> {
        let adaptive = trained_with_random_seed();
        (0..128).map(|_| adaptive.plan().unwrap().hedges).collect()
    };
    assert_ne!(draws(), draws());
}

/// Returns the number of races that were recorded.
fn recorded(adaptive: &Adaptive) -> u64 {
    let learner = adaptive.learner.as_ref().unwrap();
    let [won, lost] = learner.groups();
    learner.within.load(Ordering::Relaxed) + won + lost
}

#[test]
fn race_that_never_begins_is_not_recorded() {
    let (adaptive, clock) = (trained(), VirtualClock::new());
    let race = Race::at(clock.timer()).of(&adaptive, [clock.sleep(ms(5))]);
    drop(race);
    assert_eq!(recorded(&adaptive), 0);
}

#[test]
fn race_that_resumes_an_attempt_is_not_recorded() {
    let (adaptive, clock) = (trained(), VirtualClock::new());
    clock.advance(ms(60_000));
    for _ in 0..20 {
        let attempts = [50, 30].map(|latency| clock.sleep(ms(latency)));
        let race = Race::at(clock.timer()).of(&adaptive, attempts).resumed();
        clock.run(race.first()).unwrap();
    }
    assert_eq!(recorded(&adaptive), 0);
    assert!(adaptive.learner.as_ref().unwrap().hedges.recorded() > 0);
}
