//! Attempt timeouts and the deadline.

use crate::{
    ClockKind, Target,
    attempt::{HANGS, ok},
    check::{Check, ms, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        attempt_timeout_ends_each_attempt,
        deadline_ends_the_race,
        zero_deadline_allows_only_the_first_poll,
        attempt_timeout_leaves_room_for_the_next_attempt,
    );
    if X::CLOCK == ClockKind::Exact {
        run!(suite:
            result_in_the_instant_of_its_timeout_wins,
            result_in_the_instant_of_the_deadline_wins,
        );
    }
}

async fn attempt_timeout_ends_each_attempt<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS; 2];
    let race = check.race(50, &list).attempt_timeout(ms(30));
    check.holds(race.first().await.is_none(), "no attempt finished");
    check.starts_at(&[0, 50]);
    check.time_is(80);
}

async fn deadline_ends_the_race<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS; 2];
    let race = check.race(50, &list).deadline(ms(120));
    check.holds(race.first().await.is_none(), "no attempt finished");
    check.time_is(120);
    check.same("running attempts", check.running(), 0);
}

async fn zero_deadline_allows_only_the_first_poll<X: Target>(check: &Check<'_, X>) {
    let list = [ok(0)];
    let won = check.race(10, &list).deadline(ms(0)).first().await;
    check.won(winner(won), 0, 0);
    let list = [ok(50)];
    let won = check.race(10, &list).deadline(ms(0)).first().await;
    check.holds(won.is_none(), "the attempt needs a second poll");
    check.time_is(0);
}

async fn attempt_timeout_leaves_room_for_the_next_attempt<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, HANGS, ok(0)];
    let race = check.race(10, &list).max_in_flight(1);
    let race = race.attempt_timeout(ms(30));
    check.won(winner(race.first().await), 2, 60);
    check.starts_at(&[0, 30, 60]);
}

async fn result_in_the_instant_of_its_timeout_wins<X: Target>(check: &Check<'_, X>) {
    let list = [ok(50)];
    let won = check.race(10, &list).attempt_timeout(ms(50)).first().await;
    check.won(winner(won), 0, 50);
}

async fn result_in_the_instant_of_the_deadline_wins<X: Target>(check: &Check<'_, X>) {
    let list = [ok(50)];
    let won = check.race(100, &list).deadline(ms(50)).first().await;
    check.won(winner(won), 0, 50);
}
