//! Attempts that are polled in their spans.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use tracing_subscriber::{
    layer::SubscriberExt as _, registry::Registry, util::SubscriberInitExt as _,
};

use super::Told;
use crate::{Race, observe::Traced, test::VirtualClock};

const DELAY: Duration = Duration::from_millis(50);

struct Connection;

impl Drop for Connection {
    fn drop(&mut self) {
        tracing::info!(target: "race", "dropped");
    }
}

/// An attempt that emits an event in its first poll, after its wait, and when it is dropped.
async fn attempt(clock: VirtualClock, millis: u64) {
    let _connection = Connection;
    tracing::info!(target: "race", "connecting");
    clock.sleep(Duration::from_millis(millis)).await;
    tracing::info_span!(target: "race", "request").in_scope(|| {});
}

/// The lines of the attempts themselves.
fn told(run: impl FnOnce(VirtualClock)) -> Vec<String> {
    let told = Told::default();
    let _subscribed = Registry::default().with(told.clone()).set_default();
    run(VirtualClock::new());
    let own = ["connecting", "dropped", "request: opened"];
    let lines = told.lines().into_iter();
    lines
        .filter(|line| own.iter().any(|own| line.ends_with(own)))
        .collect()
}

#[test]
fn attempts_are_polled_and_dropped_in_their_spans() {
    for traced_first in [true, false] {
        let lines = told(|clock| {
            let attempts = [500, 20].map(|millis| attempt(clock.clone(), millis));
            let race = Race::at(clock.timer()).of(DELAY, attempts);
            let request = tracing::info_span!(target: "race", "caller");
            let won = match traced_first {
                true => {
                    let race = race.observer(Traced::in_span(request)).poll_in_spans();
                    clock.run(race.first())
                }
                false => {
                    let race = race.poll_in_spans().observer(Traced::in_span(request));
                    clock.run(race.first())
                }
            };
            assert_eq!(won.expect("it ends").map(|won| won.index), Some(1));
        });
        let expected = [
            "caller:race:attempt: INFO connecting",
            "caller:race:attempt: INFO connecting",
            "caller:race:attempt:request: opened",
            "caller:race:attempt: INFO dropped",
            "caller:race:attempt: INFO dropped",
        ];
        assert_eq!(lines, expected);
    }
}

#[test]
fn attempts_without_an_observer_or_the_option_are_in_the_span_of_the_race() {
    let lines = told(|clock| {
        let attempts = [attempt(clock.clone(), 5)];
        let race = Race::at(clock.timer()).of(DELAY, attempts).poll_in_spans();
        let _won = clock.run(race.first());
        let attempts = [attempt(clock.clone(), 5)];
        let race = Race::at(clock.timer())
            .of(DELAY, attempts)
            .observer(Traced::new());
        let _won = clock.run(race.first());
    });
    let one = [" INFO connecting", "request: opened", " INFO dropped"];
    assert_eq!(lines, [one, one].concat());
}

#[test]
fn clone_of_the_observer_observes_another_race() {
    let lines = told(|clock| {
        let first = Traced::in_span(tracing::info_span!(target: "race", "caller"));
        for traced in [first.clone(), first] {
            let attempts = [attempt(clock.clone(), 5)];
            let race = Race::at(clock.timer()).of(DELAY, attempts);
            let _won = clock.run(race.observer(traced).poll_in_spans().first());
        }
    });
    assert_eq!(lines.len(), 6);
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("caller:race:attempt:")),
        "{lines:?}"
    );
}

#[test]
#[should_panic(expected = "while attempts are running")]
fn running_attempts_are_not_dropped() {
    let clock = VirtualClock::new();
    let attempts = [5, 500].map(|millis| attempt(clock.clone(), millis));
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    let _first = clock.run(race.next());
    let _race = race.poll_in_spans();
}
