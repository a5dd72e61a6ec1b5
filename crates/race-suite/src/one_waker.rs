//! Races on the heap whose attempts have the waker of the task.

use race_core::{GenericRace, placement::OneWaker, source::Of};

use crate::{
    Target,
    attempt::{Attempt, Candidate, Candidates, HANGS, fails, ok},
    check::{Check, ms, winner},
    suite::{Suite, run},
};

type Race<'a, X> =
    GenericRace<OneWaker, Of<Candidates<'a, X>, Attempt<'a, X>>, <X as Target>::Timer>;

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        one_waker_race_is_staggered,
        one_waker_race_starts_after_a_failure,
        one_waker_race_has_room_for_many,
        one_waker_race_times_out,
    );
}

fn race<'a, X: Target>(check: &'a Check<'a, X>, delay: u64, list: &'a [Candidate]) -> Race<'a, X> {
    GenericRace::at(check.timer()).of(ms(delay), check.candidates(list))
}

async fn one_waker_race_is_staggered<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, ok(0)];
    check.won(winner(race(check, 50, &list).first().await), 2, 100);
    check.starts_at(&[0, 50, 100]);
}

async fn one_waker_race_starts_after_a_failure<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), ok(10)];
    let won = race(check, 50, &list).first_ok().await;
    check.won(winner(won.ok()), 1, 15);
    check.starts_at(&[0, 5]);
}

async fn one_waker_race_has_room_for_many<X: Target>(check: &Check<'_, X>) {
    let list = [ok(50); 16];
    let mut race = race(check, 0, &list);
    let mut finished = 0;
    while let Some((_, output)) = race.next().await {
        check.same("output", output, Ok(50));
        finished += 1;
    }
    check.same("completions", finished, list.len());
    check.time_is(50);
}

async fn one_waker_race_times_out<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, ok(0)];
    let race = race(check, 60_000, &list).attempt_timeout(ms(30));
    check.won(winner(race.first_ok().await.ok()), 1, 30);
    check.starts_at(&[0, 30]);
}
