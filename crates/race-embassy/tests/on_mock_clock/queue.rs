//! A `race_core::Race`, which has a waker for each attempt, on the generic queue with eight places.

use core::time::Duration;

use embassy_time::Timer;
use race_core::{Race, Won};
use race_embassy::EmbassyTimer;

use crate::executor::{count, count_with_slow_polls};

async fn after(millis: u64) -> u64 {
    Timer::after_millis(millis).await;
    millis
}

/// Races attempts that start at once, with a deadline, for which the timer needs a waker too.
async fn race(attempts: impl IntoIterator<Item = u64>) -> Won<usize, u64> {
    let attempts = attempts.into_iter().map(after);
    let race = Race::at(EmbassyTimer::new()).of(Duration::ZERO, attempts);
    let won = race.deadline(Duration::from_secs(1)).first().await;
    won.expect("the deadline is later")
}

#[test]
fn generic_queue_takes_the_wakers_of_attempts() {
    let ran = count(async {
        let attempts = [100, 20, 80].map(after);
        let race = Race::at(EmbassyTimer::new()).of(Duration::from_millis(50), attempts);
        race.first().await
    });
    let won = ran.output.expect("there are three attempts");
    assert_eq!((won.index, won.output, ran.ticks), (1, 20, 70_000));
}

#[test]
fn a_race_needs_two_places_more_than_attempts() {
    // One place for the timer, and one for the task, with whose waker the first attempt was polled
    // while it was alone.
    let ran = count_with_slow_polls(race([5; 6]));
    assert!(ran.polls < 10, "{} polls", ran.polls);

    // One attempt more: the wakers evict each other, and the task does not sleep.
    let ran = count_with_slow_polls(race([5; 7]));
    assert!(ran.polls > 4_000, "{} polls", ran.polls);
}

#[test]
fn full_queue_loses_no_wake() {
    for attempts in [7, 8, 20, 100] {
        // The last attempt wins, at 3 ms. A wake that is lost would cost until 50 ms.
        let ran = count_with_slow_polls(race((0..attempts).rev().map(|index| index + 3)));
        assert_eq!(ran.output.output, 3, "of {attempts}");
        assert!(ran.ticks < 3_100, "{} ticks of {attempts}", ran.ticks);
    }
}

#[test]
fn a_cancelled_attempt_keeps_its_place_until_its_time() {
    let cancelled = || race([1, 40, 40, 40, 40, 40]);
    let ran = count_with_slow_polls(async {
        cancelled().await;
        race([5; 6]).await
    });
    assert!(ran.polls > 4_000, "{} polls", ran.polls);

    let ran = count_with_slow_polls(async {
        cancelled().await;
        after(1_000).await; // the deadline, for which the timer of the race has a place
        race([5; 6]).await
    });
    assert!(ran.polls < 50, "{} polls", ran.polls);
}
