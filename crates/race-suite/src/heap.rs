//! Races on the heap, whose attempts have wakers of their own.

use alloc::vec::Vec;

use race_core::Race;

use crate::{
    ClockKind, Target,
    attempt::{HANGS, fails, ok},
    check::{Check, ms, poll_once, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        heap_race_is_staggered,
        heap_race_keeps_the_winner_and_drops_the_others,
        heap_race_starts_after_a_failure,
        heap_race_has_room_for_many,
        heap_race_ends_each_poll,
        quorum_collects_the_first_successes,
        quorum_out_of_reach_fails_at_once,
    );
    if X::CLOCK == ClockKind::Exact {
        run!(suite: only_woken_attempts_are_polled);
    }
}

async fn heap_race_is_staggered<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, ok(0)];
    let race = Race::at(check.timer()).of(ms(50), check.candidates(&list));
    check.won(winner(race.first().await), 2, 100);
    check.starts_at(&[0, 50, 100]);
}

async fn heap_race_keeps_the_winner_and_drops_the_others<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, ok(20), HANGS];
    let race = Race::at(check.timer()).of(ms(50), check.candidates(&list));
    check.won(winner(race.first().await), 1, 70);
}

async fn heap_race_starts_after_a_failure<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), ok(10)];
    let race = Race::at(check.timer()).of(ms(50), check.candidates(&list));
    check.won(winner(race.first_ok().await.ok()), 1, 15);
    check.starts_at(&[0, 5]);
}

async fn heap_race_has_room_for_many<X: Target>(check: &Check<'_, X>) {
    let list = [ok(50)];
    let attempts = check.candidates(&list).endless().take(16);
    let mut race = Race::at(check.timer()).of(ms(0), attempts);
    let mut finished = Vec::new();
    while let Some((index, output)) = race.next().await {
        check.same("output", output, Ok(50));
        finished.push(index);
    }
    if X::CLOCK == ClockKind::Real {
        // Timers for the same time can fire in any order.
        finished.sort_unstable();
    }
    check.same("finished", finished, (0..16).collect());
    check.time_is(50);
}

async fn heap_race_ends_each_poll<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS];
    let attempts = check.candidates(&list).endless();
    let mut race = Race::at(check.timer())
        .of(ms(0), attempts)
        .max_in_flight(150);
    for _ in 0..20 {
        let polled = poll_once(race.next()).await;
        check.holds(polled.is_pending(), "nothing has finished");
    }
    check.same("running attempts", race.len(), 150);
}

async fn quorum_collects_the_first_successes<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, ok(20), fails(5), ok(0)];
    let race = Race::at(check.timer()).of(ms(50), check.candidates(&list));
    let won = race.quorum(2).await.ok();
    let winners = won.map(|won| [won[0].index, won[1].index]);
    check.same("winners", winners, Some([1, 3]));
    check.same("running attempts", check.running(), 0);
}

async fn quorum_out_of_reach_fails_at_once<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), fails(5), HANGS];
    let race = Race::at(check.timer()).of(ms(50), check.candidates(&list));
    check.holds(race.quorum(2).await.is_err(), "one success is left");
    check.time_is(10);
}

async fn only_woken_attempts_are_polled<X: Target>(check: &Check<'_, X>) {
    let list = [ok(10), ok(20), ok(30), ok(40), ok(50), ok(60)];
    let mut race = Race::at(check.timer()).of(ms(0), check.candidates(&list));
    while race.next().await.is_some() {}
    // The first attempt is polled once more, since it was alone.
    check.holds(check.polls() <= 2 * list.len() + 1, "only the woken ones");
    check.time_is(60);
}
