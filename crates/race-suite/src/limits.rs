//! How many attempts run and start.

use core::{cell::Cell, pin::pin};

use race_core::policy::Permit;

use crate::{
    Target,
    attempt::{HANGS, InlineRace, ok},
    check::{Check, ms, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        full_race_starts_the_next_attempt_when_one_finishes,
        max_in_flight_is_kept,
        max_attempts_is_kept,
        gate_keeps_attempts_from_starting,
        gate_is_asked_again_a_delay_later,
    );
}

async fn full_race_starts_the_next_attempt_when_one_finishes<X: Target>(check: &Check<'_, X>) {
    let list = [ok(100); 6];
    let mut race = pin!(check.race(10, &list));
    while race.as_mut().next().await.is_some() {}
    check.holds(check.peak() <= 4, "there is room for four");
    check.starts_at(&[0, 10, 20, 30, 100, 110]);
    check.time_is(210);
}

async fn max_in_flight_is_kept<X: Target>(check: &Check<'_, X>) {
    let list = [ok(30); 4];
    let mut race = pin!(check.race(10, &list).max_in_flight(2));
    while race.as_mut().next().await.is_some() {}
    check.holds(check.peak() <= 2, "two may run");
    check.starts_at(&[0, 10, 30, 40]);
}

async fn max_attempts_is_kept<X: Target>(check: &Check<'_, X>) {
    let list = [ok(5)];
    let attempts = check.candidates(&list).endless();
    let race: InlineRace<'_, X> = check.inline_race().of(ms(10), attempts);
    let mut race = pin!(race.max_attempts(3));
    while race.as_mut().next().await.is_some() {}
    check.same("attempts", check.started(), 3);
    check.starts_at(&[0, 10, 20]);
}

async fn gate_keeps_attempts_from_starting<X: Target>(check: &Check<'_, X>) {
    let list = [ok(120), HANGS, ok(0)];
    let race = check.race(50, &list).gate(|race| race.index < 2);
    check.won(winner(race.first().await), 0, 120);
    check.starts_at(&[0, 50]);
    check.same("attempts", check.started(), 2);
}

async fn gate_is_asked_again_a_delay_later<X: Target>(check: &Check<'_, X>) {
    let (list, asked) = ([HANGS, ok(0)], Cell::new(0));
    let race = check.race(20, &list).gate(|_| {
        asked.set(asked.get() + 1);
        match asked.get() {
            3 => Permit::Start,
            _ => Permit::NotNow,
        }
    });
    check.won(winner(race.first().await), 1, 60);
    check.starts_at(&[0, 60]);
    check.same("questions", asked.get(), 3);
}
