use core::time::Duration;
use std::vec::Vec;

use fastrand::Rng;

use super::*;

fn state(index: usize, cause: Cause) -> RaceState<'static> {
    RaceState {
        index,
        cause,
        running: 1,
        failed: 0,
        needed: 1,
        elapsed: &|| Duration::ZERO,
    }
}

/// A race as the model sees it: which of its running attempts were charged.
#[derive(Default)]
struct Model {
    started: usize,
    running: Vec<(usize, bool)>,
}

struct Race<'a> {
    hook: Charge<&'a Budget>,
    model: Model,
}

impl<'a> Race<'a> {
    fn new(budget: &'a Budget) -> Self {
        Self {
            hook: Charge::new(budget),
            model: Model::default(),
        }
    }
}

/// What all races have running, and how many of that was charged.
fn counts(races: &[Race<'_>]) -> (usize, usize) {
    let running = races.iter().flat_map(|race| &race.model.running);
    let charged = running.clone().filter(|(_, is_charged)| *is_charged);
    (running.count(), charged.count())
}

/// Every step that a race can take, in random order, with another budget that refuses, with
/// attempts that cannot be made, and with panics.
#[test]
fn a_share_of_what_is_in_flight_is_that_after_each_step() {
    let mut random = Rng::with_seed(3);
    for _ in 0..300 {
        let (percent, reserve) = (random.u8(..=120), random.u16(0..3));
        let budget = Budget::in_flight(percent).reserve(reserve);
        let budget = match random.bool() {
            true => budget.charge_failover(),
            false => budget,
        };
        let share = usize::from(percent.min(100));
        let most = |running: usize| (running * share / 100).max(usize::from(reserve));
        let mut races: Vec<_> = (0..4).map(|_| Race::new(&budget)).collect();
        for _ in 0..100 {
            let (running, charged) = counts(&races);
            let race = random.choice(&mut races).expect("there are four");
            let index = race.model.started;
            match random.u8(0..12) {
                0 => *race = Race::new(&budget),
                1 => {
                    let kept: Vec<bool> = (0..index).map(|_| random.bool()).collect();
                    race.hook.retain(&mut |index| kept[index]);
                    race.model.running.retain(|(index, _)| kept[*index]);
                }
                2..=5 if !race.model.running.is_empty() => {
                    let position = random.usize(0..race.model.running.len());
                    let (index, _) = race.model.running.swap_remove(position);
                    race.hook.ended(index, EventKind::Finished);
                }
                _ => {
                    let cause = match random.u8(0..3) {
                        _ if index == 0 => Cause::First,
                        0 => Cause::Failure,
                        _ => Cause::Delay,
                    };
                    let is_free = index == 0 || cause == Cause::Failure && !budget.charges_failover;
                    let may = index == 0 || race.hook.charge(&state(index, cause));
                    assert_eq!(may, is_free || charged < most(running));
                    match random.u8(0..8) {
                        _ if !may => {}
                        0 => race.hook.refund(&state(index, cause)),
                        // The attempt cannot be made: a panic.
                        1 => race.hook.retain(&mut |_| true),
                        _ => {
                            race.hook.started(index, cause);
                            race.model.running.push((index, !is_free));
                            race.model.started += 1;
                        }
                    }
                }
            }
            let (running, charged) = counts(&races);
            assert_eq!(budget.balance(), most(running).saturating_sub(charged));
            assert!(!budget.withdraw());
        }
        drop(races);
        assert_eq!(budget.balance(), usize::from(reserve));
    }
}
