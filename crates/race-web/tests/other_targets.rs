//! On a target without a global scope the crate compiles, and its timer says what to use instead.

#![cfg(not(target_family = "wasm"))]

use std::{pin::Pin, time::Duration};

use race_web::{Race, WebTimer, race_core::Timer as _, sleep};

#[test]
#[should_panic(expected = "on this target use `race-thread`")]
fn clock_panics() {
    let _ = WebTimer::new().now();
}

#[test]
#[should_panic(expected = "on this target use `race-thread`")]
fn sleep_panics() {
    drop(sleep(Duration::from_secs(1)));
}

/// A race reads no clock before it has to wait.
#[test]
fn timer_that_does_not_wait_does_nothing() {
    let mut timer = WebTimer::default().clone();
    Pin::new(&mut timer).disarm();
    assert_eq!(format!("{timer:?}"), "WebTimer { deadline: None, .. }");
    let race = Race::of(Duration::from_secs(1), [std::future::ready(7)]);
    let won = pollster::block_on(race.first());
    assert_eq!(won.map(|won| won.output), Some(7));
}
