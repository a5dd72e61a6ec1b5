//! Starts that were missed because the race was not polled.

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use race_core::CatchUp;

use crate::{
    Target,
    attempt::{HANGS, InlineRace, ok},
    check::Check,
    suite::{Suite, run},
};

pub(crate) async fn run<X: Target>(suite: &mut Suite<'_, X>) {
    run!(suite:
        late_poll_starts_one_attempt,
        late_poll_with_skip_keeps_the_original_schedule,
        late_poll_with_burst_starts_every_missed_attempt,
    );
}

async fn late_poll_starts_one_attempt<X: Target>(check: &Check<'_, X>) {
    not_polled_for_100_ms(check, CatchUp::Delay).await;
    check.starts_at(&[0, 105, 155]);
}

async fn late_poll_with_skip_keeps_the_original_schedule<X: Target>(check: &Check<'_, X>) {
    not_polled_for_100_ms(check, CatchUp::Skip).await;
    check.starts_at(&[0, 105, 150]);
}

async fn late_poll_with_burst_starts_every_missed_attempt<X: Target>(check: &Check<'_, X>) {
    not_polled_for_100_ms(check, CatchUp::Burst).await;
    check.starts_at(&[0, 105, 105, 150]);
}

/// The delay is 50 ms. The race is polled until 5, and from 105 until 160.
async fn not_polled_for_100_ms<X: Target>(check: &Check<'_, X>, catch_up: CatchUp) {
    let list = [ok(5), HANGS, HANGS, HANGS];
    let mut race = pin!(check.race(50, &list).catch_up(catch_up));
    check.holds(
        race.as_mut().next().await.is_some(),
        "the first attempt ends",
    );
    check.sleep(100).await;
    poll_for(check, race, 55).await;
    check.time_is(160);
}

/// Polls a race in which nothing finishes for some milliseconds.
async fn poll_for<X: Target>(
    check: &Check<'_, X>,
    mut race: Pin<&mut InlineRace<'_, X>>,
    millis: u64,
) {
    let mut until = pin!(check.sleep(millis));
    poll_fn(|cx| {
        let mut next = race.as_mut().next();
        let polled: Poll<_> = Pin::new(&mut next).poll(cx);
        check.holds(polled.is_pending(), "nothing finishes");
        until.as_mut().poll(cx)
    })
    .await;
}
