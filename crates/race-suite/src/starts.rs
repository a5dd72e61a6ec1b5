//! When attempts start.

use core::{pin::pin, time::Duration};

use race_core::{GrowingDelay, Steps};

use crate::{
    Target,
    attempt::{HANGS, InlineRace, ok},
    check::{Check, ms, poll_once, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        first_attempt_starts_in_the_first_poll,
        starts_are_a_delay_apart,
        winner_keeps_the_others_from_starting,
        zero_delay_starts_all_at_once,
        zero_delay_over_an_endless_source_ends_each_poll,
        huge_delay_never_passes,
        steps_are_followed,
        growing_delay_doubles,
        closure_decides_the_delay,
        minimum_gap_is_kept,
    );
}

async fn first_attempt_starts_in_the_first_poll<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS; 2];
    let mut race = pin!(check.race(1_000, &list));
    check.same("attempts before the first poll", check.started(), 0);
    let polled = poll_once(race.as_mut().next()).await;
    check.holds(polled.is_pending(), "nothing has finished");
    check.starts_at(&[0]);
}

async fn starts_are_a_delay_apart<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, HANGS, ok(0)];
    let won = check.race(50, &list).first().await;
    check.won(winner(won), 3, 150);
    check.starts_at(&[0, 50, 100, 150]);
}

async fn winner_keeps_the_others_from_starting<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, ok(20), HANGS];
    let won = check.race(50, &list).first().await;
    check.won(winner(won), 1, 70);
    check.starts_at(&[0, 50]);
}

async fn zero_delay_starts_all_at_once<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, HANGS, ok(10)];
    let won = check.race(0, &list).first().await;
    check.won(winner(won), 3, 10);
    check.starts_at(&[0; 4]);
}

async fn zero_delay_over_an_endless_source_ends_each_poll<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS];
    let attempts = check.candidates(&list).endless();
    let mut race = pin!(check.inline_race().of(ms(0), attempts));
    for _ in 0..10 {
        let polled = poll_once(race.as_mut().next()).await;
        check.holds(polled.is_pending(), "nothing has finished");
    }
    check.same("running attempts", race.len(), 4);
    check.starts_at(&[0; 4]);
}

async fn huge_delay_never_passes<X: Target>(check: &Check<'_, X>) {
    let list = [ok(20), ok(0)];
    let race = check
        .inline_race()
        .of(Duration::MAX, check.candidates(&list));
    let race = race
        .attempt_timeout(Duration::MAX)
        .deadline(Duration::MAX)
        .min_gap(Duration::MAX);
    check.won(winner(race.first().await), 0, 20);
    check.starts_at(&[0]);
}

async fn steps_are_followed<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, HANGS, ok(0)];
    let steps = Steps::new([ms(10), ms(30)]);
    let race: InlineRace<'_, X, _> = check.inline_race().of(steps, check.candidates(&list));
    check.won(winner(race.first().await), 3, 70);
    check.starts_at(&[0, 10, 40, 70]);
}

async fn growing_delay_doubles<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, HANGS, ok(0)];
    let delay = GrowingDelay::new(ms(10));
    let race: InlineRace<'_, X, _> = check.inline_race().of(delay, check.candidates(&list));
    check.won(winner(race.first().await), 3, 70);
    check.starts_at(&[0, 10, 30, 70]);
}

async fn closure_decides_the_delay<X: Target>(check: &Check<'_, X>) {
    let list = [ok(100), HANGS, ok(0)];
    let delay = |index: usize| (index < 2).then_some(ms(30));
    let race: InlineRace<'_, X, _> = check.inline_race().of(delay, check.candidates(&list));
    check.won(winner(race.first().await), 0, 100);
    check.starts_at(&[0, 30]);
    check.same("attempts", check.started(), 2);
}

async fn minimum_gap_is_kept<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, ok(0)];
    let race = check.race(10, &list).min_gap(ms(25));
    check.won(winner(race.first().await), 2, 50);
    check.starts_at(&[0, 25, 50]);
}
