//! A program with the feature `embassy` and without a time driver links.

use std::{future::ready, time::Duration};

#[test]
fn race_that_is_not_polled_needs_no_driver() {
    let race = race::embassy::Race::of(Duration::from_millis(50), [ready(1)]);
    assert!(race.into_args().is_empty());
}
