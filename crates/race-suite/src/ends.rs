//! Winners, the order of completions, cancellation, and the end of a race.

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use futures_core::FusedStream as _;
use race_core::Timer;

use crate::{
    ClockKind, Target,
    attempt::{HANGS, ok},
    check::{Check, ms, poll_once, winner},
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        race_without_candidates_ends_at_once,
        race_ends_and_stays_ended,
        dropped_race_cancels_its_attempts,
        dropped_next_loses_nothing,
        attempts_may_wait_for_the_timer_of_the_race,
    );
    if X::CLOCK == ClockKind::Exact {
        run!(suite:
            completions_come_out_as_they_finish,
            two_races_of_one_task_keep_their_times,
        );
    }
}

async fn race_without_candidates_ends_at_once<X: Target>(check: &Check<'_, X>) {
    let won = check.race(50, &[]).first().await;
    check.holds(won.is_none(), "there are no candidates");
    check.time_is(0);
}

async fn race_ends_and_stays_ended<X: Target>(check: &Check<'_, X>) {
    let list = [ok(5)];
    let mut race = pin!(check.race(50, &list));
    let finished = race.as_mut().next().await;
    check.same("completion", finished, Some((0, Ok(5))));
    for _ in 0..3 {
        check.same(
            "completion after the last",
            race.as_mut().next().await,
            None,
        );
        check.holds(race.is_terminated(), "the race has ended");
    }
    check.time_is(5);
}

async fn dropped_race_cancels_its_attempts<X: Target>(check: &Check<'_, X>) {
    let list = [HANGS; 3];
    {
        let mut race = pin!(check.race(0, &list));
        let polled = poll_once(race.as_mut().next()).await;
        check.holds(polled.is_pending(), "nothing has finished");
        check.same("running attempts", check.running(), 3);
    }
    check.same("running attempts after the drop", check.running(), 0);
}

async fn dropped_next_loses_nothing<X: Target>(check: &Check<'_, X>) {
    let list = [ok(30), HANGS];
    let mut race = pin!(check.race(10, &list).max_attempts(1));
    for _ in 0..3 {
        let polled = poll_once(race.as_mut().next()).await;
        check.holds(polled.is_pending(), "nothing has finished");
    }
    let finished = race.as_mut().next().await;
    check.same("completion", finished, Some((0, Ok(30))));
    check.time_is(30);
}

/// The attempts are polled with the waker of the task, or with their own; each has a timer.
async fn attempts_may_wait_for_the_timer_of_the_race<X: Target>(check: &Check<'_, X>) {
    let run = |index: usize| {
        let mut timer = check.timer();
        let deadline = timer.now() + ms(if index == 1 { 20 } else { 3_600_000 });
        poll_fn(move |cx| Pin::new(&mut timer).poll_until(deadline, cx))
    };
    let race = race_core::InlineRace::<4, _, _>::at(check.timer()).from_fn(ms(50), run);
    let won = race.max_attempts(2).first().await;
    check.won(winner(won), 1, 70);
}

async fn completions_come_out_as_they_finish<X: Target>(check: &Check<'_, X>) {
    let list = [ok(100), ok(20), ok(80)];
    let mut race = pin!(check.race(50, &list));
    for (index, at) in [(1, 70), (0, 100), (2, 180)] {
        let finished = race.as_mut().next().await;
        check.same("completion", finished.map(|(index, _)| index), Some(index));
        check.time_is(at);
    }
    check.same(
        "completion after the last",
        race.as_mut().next().await,
        None,
    );
}

async fn two_races_of_one_task_keep_their_times<X: Target>(check: &Check<'_, X>) {
    let lists = [[HANGS, ok(20)], [HANGS, ok(35)]];
    let [one, two] = &lists;
    let (mut one, mut two) = (
        pin!(check.race(50, one).first()),
        pin!(check.race(40, two).first()),
    );
    let mut first = None;
    let second = poll_fn(|cx| {
        if first.is_none() {
            if let Poll::Ready(won) = one.as_mut().poll(cx) {
                check.time_is(70);
                first = Some(winner(won));
            }
        }
        two.as_mut().poll(cx)
    })
    .await;
    check.same("first winner", first.flatten().map(|won| won.0), Some(1));
    check.won(winner(second), 1, 75);
}
