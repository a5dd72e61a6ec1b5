//! The endpoints of attempts in their spans.

#![cfg(feature = "tracing")]
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use race_balance::Balance;
use race_core::{Race, observe::Traced, test::VirtualClock};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::{LookupSpan, Registry},
    util::SubscriberInitExt as _,
};

/// The values of the fields `endpoint`, with the names of the spans around.
#[derive(Clone, Default)]
struct Endpoints(Arc<Mutex<Vec<String>>>);

struct Endpoint(Option<String>);

impl Visit for Endpoint {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "endpoint" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Endpoints {
    fn on_record(&self, id: &Id, values: &Record<'_>, cx: Context<'_, S>) {
        let mut endpoint = Endpoint(None);
        values.record(&mut endpoint);
        let Some(endpoint) = endpoint.0 else { return };
        let scope = cx.span_scope(id).unwrap().from_root();
        let path: String = scope.map(|span| format!("{}:", span.name())).collect();
        self.0.lock().unwrap().push(path + &endpoint);
    }
}

/// Runs what races, and returns what was recorded.
fn recorded(run: impl FnOnce(VirtualClock)) -> Vec<String> {
    let endpoints = Endpoints::default();
    let _subscribed = Registry::default().with(endpoints.clone()).set_default();
    run(VirtualClock::new());
    endpoints.0.lock().unwrap().clone()
}

fn balance(clock: &VirtualClock) -> Balance<&'static str, VirtualClock> {
    Balance::timed_by(clock.clone(), ["one", "two"]).seed(1)
}

/// Races two attempts, of which the second wins, and returns where they went.
fn race(balance: &Balance<&'static str, VirtualClock>, clock: &VirtualClock) -> Vec<String> {
    let (targets, went) = (balance.targets(), Mutex::new(Vec::new()));
    let attempt = |index| {
        let (went, clock) = (&went, clock.clone());
        targets.run(move |endpoint| async move {
            went.lock().unwrap().push(endpoint.to_owned());
            clock.sleep(Duration::from_millis([500, 20][index])).await;
        })
    };
    let race = Race::at(clock.timer())
        .from_fn(Duration::from_millis(50), attempt)
        .max_attempts(2)
        .observer(Traced::new())
        .poll_in_spans();
    assert_eq!(clock.run(race.first()).unwrap().unwrap().index, 1);
    went.into_inner().unwrap()
}

#[test]
fn endpoint_is_recorded_once_in_the_span_of_each_attempt() {
    let mut went = Vec::new();
    let recorded = recorded(|clock| {
        let balance = balance(&clock).label(fmt::Debug::fmt);
        went = race(&balance, &clock);
    });
    let expected = went.iter().map(|it| format!("race:attempt:{it:?}"));
    assert_eq!(recorded, expected.collect::<Vec<_>>());
    assert_eq!(recorded.len(), 2);
}

#[test]
fn balance_without_a_label_records_nothing() {
    let recorded = recorded(|clock| {
        race(&balance(&clock), &clock);
    });
    assert_eq!(recorded, [""; 0]);
}

#[test]
fn field_of_another_span_is_left_alone() {
    let recorded = recorded(|clock| {
        let balance = balance(&clock).label(fmt::Debug::fmt);
        let span = tracing::info_span!("attempt", endpoint = tracing::field::Empty);
        let attempt = balance.targets().run(|_| async {});
        clock
            .run(tracing::Instrument::instrument(attempt, span))
            .unwrap();
    });
    assert_eq!(recorded, [""; 0]);
}

#[cfg(feature = "tower")]
#[test]
fn key_of_a_balanced_service_is_recorded_in_the_span_of_its_attempt() {
    use race_balance::{Balanced, Slot};
    use race_tower::GenericHedgeLayer;
    use tower::{ServiceExt as _, service_fn};

    let recorded = recorded(|clock| {
        let connect = |host: &'static str| {
            let clock = clock.clone();
            let serve = move |(): ()| {
                let slow = clock.sleep(Duration::from_millis(100));
                async move {
                    slow.await;
                    Ok::<_, &'static str>(host)
                }
            };
            Slot::new(host, service_fn(serve))
        };
        let balance = Balance::timed_by(clock.clone(), ["one", "two"].map(connect));
        let balance = balance.label(|slot, f| fmt::Display::fmt(slot.key(), f));
        let service = GenericHedgeLayer::with_timer(clock.timer(), Duration::from_millis(50))
            .observer(Traced::new())
            .over(Balanced::new(balance));
        clock.run(service.oneshot(())).unwrap().unwrap();
    });
    let mut sorted = recorded;
    sorted.sort_unstable();
    assert_eq!(sorted, ["race:attempt:one", "race:attempt:two"]);
}
