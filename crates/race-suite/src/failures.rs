//! Result-aware finishers.

use race_core::{Backoff, OnFailure, Verdict, Won};

use crate::{
    Target,
    attempt::{Candidate, HANGS, InlineRace, Refused, fails, ok},
    check::{Check, ms, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        failure_starts_the_next_attempt_at_once,
        failure_of_an_earlier_attempt_starts_nothing,
        if_idle_waits_until_nothing_runs,
        any_failure_starts_the_next_attempt,
        wait_starts_by_time_alone,
        every_failure_is_an_error,
        latest_failures_are_kept_in_place,
        minimum_gap_limits_a_series_of_failures,
        backoff_pauses_after_each_failure,
        backoff_beside_a_delay_pauses_after_a_failure,
        attempt_timeout_is_a_failure,
        deadline_is_an_error,
        fatal_error_ends_the_race,
        classified_output_wins,
    );
}

/// Runs the candidates with a rule for failures, and asserts who wins and when.
async fn with_rule<X: Target>(
    check: &Check<'_, X>,
    rule: OnFailure,
    list: &[Candidate],
    (index, at): (usize, u64),
) {
    let race = check.race(30, list).on_failure(rule);
    check.won(success(race.first_ok().await), index, at);
}

fn success<A, V, E>(ended: Result<Won<A, V>, E>) -> Option<(usize, core::time::Duration)> {
    winner(ended.ok())
}

async fn failure_starts_the_next_attempt_at_once<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, fails(5), ok(10)];
    with_rule(check, OnFailure::default(), &list, (2, 45)).await;
    check.starts_at(&[0, 30, 35]);
}

async fn failure_of_an_earlier_attempt_starts_nothing<X: Target>(check: &Check<'_, X>) {
    let list = [fails(50), HANGS, ok(0)];
    with_rule(check, OnFailure::IfLatest, &list, (2, 60)).await;
    check.starts_at(&[0, 30, 60]);
}

async fn if_idle_waits_until_nothing_runs<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, fails(5), ok(0)];
    with_rule(check, OnFailure::IfIdle, &list, (2, 60)).await;
    check.starts_at(&[0, 30, 60]);
}

async fn any_failure_starts_the_next_attempt<X: Target>(check: &Check<'_, X>) {
    let list = [fails(50), HANGS, HANGS, ok(9)];
    with_rule(check, OnFailure::Any, &list, (3, 89)).await;
    check.starts_at(&[0, 30, 50, 80]);
}

async fn wait_starts_by_time_alone<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), ok(0)];
    with_rule(check, OnFailure::Wait, &list, (1, 30)).await;
    check.starts_at(&[0, 30]);
}

async fn every_failure_is_an_error<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), fails(6), fails(7)];
    let ended = check.race(1_000, &list).first_ok().await;
    check.holds(ended.is_err(), "every attempt fails");
    check.starts_at(&[0, 5, 11]);
    check.time_is(18);
}

async fn latest_failures_are_kept_in_place<X: Target>(check: &Check<'_, X>) {
    let list = [fails(1), fails(2), fails(3), fails(4), HANGS];
    let race = check.race(60_000, &list).attempt_timeout(ms(30));
    let Err(error) = race.first_ok().await else {
        return check.holds(false, "every attempt fails");
    };
    check.time_is(40);
    let indices = error.failed().iter().map(|failed| failed.index);
    check.holds(indices.eq(1..5), "an error has the latest four failures");
    check.same(
        "the last error",
        error.clone().into_last_error(),
        Some(Refused(4)),
    );
    check.same("failures", error.into_failed().total(), 5);
}

async fn minimum_gap_limits_a_series_of_failures<X: Target>(check: &Check<'_, X>) {
    let list = [fails(0); 4];
    let race = check.race(250, &list).min_gap(ms(10));
    check.holds(race.first_ok().await.is_err(), "every attempt fails");
    check.starts_at(&[0, 10, 20, 30]);
}

async fn backoff_pauses_after_each_failure<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), fails(5), ok(5)];
    let backoff = Backoff::new(ms(20));
    let race: InlineRace<'_, X, _> = check.inline_race().of(backoff, check.candidates(&list));
    check.won(success(race.first_ok().await), 2, 75);
    check.starts_at(&[0, 25, 70]);
}

async fn backoff_beside_a_delay_pauses_after_a_failure<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, fails(5), ok(0)];
    let race = check.race(50, &list).backoff(Backoff::new(ms(20)));
    check.won(success(race.first_ok().await), 2, 75);
    check.starts_at(&[0, 50, 75]);
}

async fn attempt_timeout_is_a_failure<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, ok(0)];
    let race = check.race(60_000, &list).attempt_timeout(ms(30));
    check.won(success(race.first_ok().await), 1, 30);
    check.starts_at(&[0, 30]);
}

async fn deadline_is_an_error<X: Target>(check: &Check<'_, X>) {
    let list = [fails(5), HANGS];
    let race = check.race(50, &list).deadline(ms(100));
    check.holds(race.first_ok().await.is_err(), "the deadline passes");
    check.time_is(100);
    check.same("running attempts", check.running(), 0);
}

async fn fatal_error_ends_the_race<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS, fails(5), ok(0)];
    let race = check.race(50, &list).on_failure(OnFailure::Wait);
    let ended = race.first_ok_by(|_| Verdict::Fatal).await;
    check.holds(ended.is_err(), "the error is fatal");
    check.starts_at(&[0, 50]);
    check.time_is(55);
    check.same("running attempts", check.running(), 0);
}

async fn classified_output_wins<X: Target>(check: &Check<'_, X>) {
    let list = [ok(5), ok(10), HANGS];
    let accept_ten = |output: &Result<u64, _>| match output {
        Ok(10) => Verdict::Accept,
        _ => Verdict::Retryable,
    };
    let ended = check.race(50, &list).first_by(accept_ten).await;
    check.won(success(ended), 1, 15);
    check.starts_at(&[0, 5]);
}
