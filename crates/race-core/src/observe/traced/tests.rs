#[cfg(feature = "test-util")]
mod in_spans;

use alloc::{format, string::String, sync::Arc, vec::Vec};
use core::{fmt, fmt::Write as _, time::Duration};
use std::sync::Mutex;

use tracing::{
    Level, Span, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    layer::{Context, SubscriberExt as _},
    registry::{LookupSpan, Registry},
    util::SubscriberInitExt as _,
};

use super::Traced;
use crate::{
    Moment,
    observe::{Cause, Event, EventKind, Observer as _, Refusal},
};

/// A layer that records what it receives, with the names of the enclosing spans.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn say(&self, line: String) {
        self.0.lock().expect("no test panics with it").push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no test panics with it").clone()
    }
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

fn path<S: Subscriber + for<'a> LookupSpan<'a>>(id: &span::Id, cx: &Context<'_, S>) -> String {
    let scope = cx.span_scope(id).expect("it is open").from_root();
    scope.map(|span| format!("{}:", span.name())).collect()
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Told {
    fn on_new_span(&self, attrs: &span::Attributes<'_>, id: &span::Id, cx: Context<'_, S>) {
        let mut fields = Fields::default();
        attrs.record(&mut fields);
        self.say(format!("{} opened{}", path(id, &cx), fields.0));
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, cx: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.say(format!("{}{}", path(id, &cx), fields.0));
    }

    fn on_event(&self, event: &tracing::Event<'_>, cx: Context<'_, S>) {
        assert_eq!(event.metadata().target(), "race");
        let mut fields = Fields::default();
        event.record(&mut fields);
        let scope = cx.event_span(event);
        let path = scope.map(|span| path(&span.id(), &cx)).unwrap_or_default();
        self.say(format!("{path} {}{}", event.metadata().level(), fields.0));
    }

    fn on_close(&self, id: span::Id, cx: Context<'_, S>) {
        self.say(format!("{} closed", path(&id, &cx)));
    }
}

fn event(millis: u64, index: usize, ran: u64, kind: EventKind) -> Event {
    Event::new(
        index,
        Cause::Delay,
        Moment::from_nanos(5_000_000_000) + Duration::from_millis(millis),
        Duration::from_millis(ran),
        kind,
    )
}

/// The records of these events.
fn told(traced: impl FnOnce() -> Traced, level: LevelFilter, events: &[Event]) -> Vec<String> {
    let told = Told::default();
    let _subscribed = Registry::default()
        .with(told.clone().with_filter(level))
        .set_default();
    let mut traced = traced();
    events.iter().for_each(|&event| traced.observe(event));
    drop(traced);
    told.lines()
}

#[test]
fn race_is_a_span_with_a_span_per_attempt() {
    let events = [
        event(0, 0, 0, EventKind::Started),
        event(50, 1, 0, EventKind::Started),
        event(70, 1, 20, EventKind::Won),
        event(70, 0, 70, EventKind::Cancelled),
    ];
    assert_eq!(
        told(Traced::new, LevelFilter::TRACE, &events),
        [
            "race: opened",
            "race:attempt: opened index=0 cause=delay",
            "race:attempt: DEBUG started index=0 elapsed_ms=0.0",
            "race:attempt: opened index=1 cause=delay",
            "race:attempt: DEBUG started index=1 elapsed_ms=50.0",
            "race:attempt: outcome=\"won\"",
            "race:attempt: DEBUG won index=1 elapsed_ms=70.0 ran_ms=20.0",
            "race: winner=1",
            "race:attempt: closed",
            "race:attempt: outcome=\"cancelled\"",
            "race:attempt: DEBUG cancelled index=0 elapsed_ms=70.0 ran_ms=70.0",
            "race:attempt: closed",
            "race: attempts=2",
            "race: elapsed_ms=70.0",
            "race: closed",
        ]
    );
}

#[test]
fn events_stay_in_the_outer_span_if_a_filter_removes_the_spans() {
    let events = [
        event(0, 0, 0, EventKind::Started),
        event(10, 1, 0, EventKind::Refused(Refusal::Budget)),
        event(10, 1, 0, EventKind::Refused(Refusal::Gate)),
        event(20, 0, 20, EventKind::TimedOut),
    ];
    let around = || Traced::in_span(tracing::info_span!(target: "race", "request"));
    assert_eq!(
        told(around, LevelFilter::INFO, &events),
        [
            "request: opened",
            "request: INFO refused index=1 elapsed_ms=10.0 by=\"budget\"",
            "request: INFO timed out index=0 elapsed_ms=20.0 ran_ms=20.0",
            "request: closed",
        ]
    );
}

#[test]
fn each_refusal_and_each_end_has_its_level() {
    let kinds = [
        EventKind::Finished,
        EventKind::Failed,
        EventKind::Refused(Refusal::MaxInFlight),
        EventKind::Refused(Refusal::Gate),
    ];
    let mut events: Vec<_> = (0..2)
        .map(|index| event(0, index, 0, EventKind::Started))
        .collect();
    events.extend(
        (0..)
            .zip(kinds)
            .map(|(index, kind)| event(1, index, 1, kind)),
    );
    let lines = told(Traced::new, LevelFilter::TRACE, &events);
    let levels = [Level::TRACE, Level::DEBUG, Level::INFO].map(|level| format!(" {level} "));
    let events = lines
        .iter()
        .filter(|line| levels.iter().any(|level| line.contains(level)));
    let events: Vec<_> = events.skip(2).collect();
    assert_eq!(
        events,
        [
            "race:attempt: DEBUG finished index=0 elapsed_ms=1.0 ran_ms=1.0",
            "race:attempt: INFO failed index=1 elapsed_ms=1.0 ran_ms=1.0",
            "race: TRACE refused index=2 elapsed_ms=1.0 by=\"max_in_flight\"",
            "race: DEBUG refused index=3 elapsed_ms=1.0 by=\"gate\"",
        ]
    );
}

#[test]
fn current_span_at_the_first_start_is_the_parent() {
    let events = [event(0, 0, 0, EventKind::Started)];
    let told = Told::default();
    let _subscribed = Registry::default().with(told.clone()).set_default();
    let (mut inside, mut outside) = (Traced::new(), Traced::in_span(Span::none()));
    let request = tracing::info_span!(target: "race", "request");
    request.in_scope(|| {
        inside.observe(events[0]);
        outside.observe(events[0]);
    });
    let lines = told.lines();
    assert_eq!(lines[1], "request:race: opened");
    assert_eq!(lines[4], "race: opened");
}

#[test]
fn next_race_closes_the_span_of_the_previous_one() {
    let events = [
        event(0, 0, 0, EventKind::Started),
        event(90, 0, 0, EventKind::Started),
    ];
    let lines = told(Traced::new, LevelFilter::DEBUG, &events);
    let races: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("race: "))
        .collect();
    assert_eq!(
        races,
        [
            "race: opened",
            "race: attempts=1",
            "race: elapsed_ms=0.0",
            "race: closed",
            "race: opened",
            "race: attempts=1",
            "race: elapsed_ms=0.0",
            "race: closed",
        ]
    );
}

#[cfg(feature = "test-util")]
#[test]
fn dropping_the_race_closes_its_spans() {
    use crate::{Race, test::VirtualClock};

    let told = Told::default();
    let _subscribed = Registry::default().with(told.clone()).set_default();
    let clock = VirtualClock::new();
    let attempts = [30, 99].map(|millis| clock.sleep(Duration::from_millis(millis)));
    let mut race = Race::at(clock.timer())
        .of(Duration::ZERO, attempts)
        .observer_with(clock.clone(), Traced::new());
    clock
        .run(race.next())
        .expect("the first sleeps on this clock");
    drop(race);
    let lines = told.lines();
    let closed = lines.iter().filter(|line| line.ends_with("closed")).count();
    assert_eq!(closed, 3, "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.contains("cancelled index=1")),
        "{lines:#?}"
    );
    assert_eq!(lines.last().map(String::as_str), Some("race: closed"));
}
