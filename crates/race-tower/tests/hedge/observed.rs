use std::sync::Arc;

use race_core::{Adaptive, observe::Counters};
use tower::Layer as _;

use crate::server::{Server, ask, ms};

#[test]
fn counters_count_hedges_of_all_requests() {
    let server = Server::new([(500, Ok("0")), (20, Ok("1")), (30, Ok("2"))]);
    let counters = Arc::new(Counters::new());
    let layer = server.layer(ms(50)).observer(counters.clone());
    let mut service = layer.layer(server.clone());
    ask(&server.clock, &mut service, "a").unwrap();
    ask(&server.clock, &mut service, "b").unwrap();
    let counts = counters.counts();
    assert_eq!((counts.races, counts.extra, counts.helped), (2, 1, 1));
    assert_eq!((counts.cancelled, counts.wasted), (1, ms(70)));
}

#[test]
fn adaptive_delay_learns_from_the_requests() {
    let answers = (0..400).map(|_| (20, Ok("fast")));
    let server = Server::new(answers.chain([(1_000, Ok("slow")), (20, Ok("hedge"))]));
    let adaptive = Arc::new(Adaptive::quantile(0.95));
    let mut service = server.layer(adaptive.clone()).layer(server.clone());
    for _ in 0..400 {
        ask(&server.clock, &mut service, "a").unwrap();
    }
    assert_eq!(adaptive.delay().unwrap().as_millis(), 20);
    assert_eq!(ask(&server.clock, &mut service, "b").unwrap(), "hedge");
}

#[test]
fn services_are_called_and_polled_in_the_span_of_their_attempt() {
    use std::sync::Mutex;

    use race_core::observe::Traced;
    use tracing::{Instrument as _, Span, info_span};
    use tracing_subscriber::{registry::Registry, util::SubscriberInitExt as _};

    let _subscribed = Registry::default().set_default();
    let server = Server::new([(500, Ok("0")), (20, Ok("1"))]);
    let spans = Arc::new(Mutex::new(vec![]));
    let note = move |spans: &Mutex<Vec<_>>, what: &'static str| {
        let name = Span::current().metadata().map(|it| it.name());
        spans.lock().unwrap().push((what, name));
    };
    let inner = {
        let (server, spans) = (server.clone(), spans.clone());
        tower::service_fn(move |request: String| {
            note(&spans, "called");
            let (mut server, spans) = (server.clone(), spans.clone());
            async move {
                note(&spans, "polled");
                tower::Service::call(&mut server, request).await
            }
        })
    };
    let mut service = server.layer(ms(50)).observer(Traced::new()).layer(inner);
    let asked = async {
        use tower::{Service as _, ServiceExt as _};
        service.ready().await?.call("a".to_owned()).await
    };
    let answer = server.clock.run(asked.instrument(info_span!("caller")));
    assert_eq!(answer.unwrap().unwrap(), "1");
    let attempt = Some("attempt");
    let expected = [("called", attempt), ("polled", attempt)];
    assert_eq!(*spans.lock().unwrap(), [expected, expected].concat());
}

/// Two requests: one is hedged and won by the hedge, one is answered in time.
fn two_requests<O: race_core::observe::Observer + Clone>(observer: O) {
    let server = Server::new([(500, Ok("0")), (20, Ok("1")), (30, Ok("2"))]);
    let mut service = server
        .layer(ms(50))
        .observer(observer)
        .layer(server.clone());
    ask(&server.clock, &mut service, "a").unwrap();
    ask(&server.clock, &mut service, "b").unwrap();
}

#[test]
fn labelled_counters_count_wins_by_index_and_requests_without_a_hedge() {
    let counters = race_tower::HedgeCounters::new("search");
    two_requests(counters.clone());
    let counts = counters.counts();
    assert_eq!((counts.won[0], counts.won[1], counts.saved), (1, 1, 1));
    assert_eq!(
        (
            counts.counts.races,
            counts.counts.extra,
            counts.counts.cancelled
        ),
        (2, 1, 1)
    );
    assert!(
        counts
            .to_string()
            .starts_with("search: 1 saved, 2 races, 3 attempts"),
        "{counts}"
    );
}

#[test]
fn metrics_are_counted_by_service() {
    use std::collections::BTreeMap;

    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        two_requests(race_tower::Metrics::new("search"));
    });
    let metrics = snapshots.snapshot().into_vec().into_iter();
    let counted: BTreeMap<String, u64> = metrics
        .map(|(key, _, _, value)| {
            let (name, labels) = key.key().clone().into_parts();
            let labels = labels
                .iter()
                .map(|label| format!(" {}={}", label.key(), label.value()));
            let DebugValue::Counter(value) = value else {
                panic!("{name:?} is no counter");
            };
            (
                format!("{}{}", name.as_str(), labels.collect::<String>()),
                value,
            )
        })
        .filter(|(_, value)| *value > 0)
        .collect();
    let expected = [
        ("hedge_attempts_total service=search cause=delay", 1),
        ("hedge_attempts_total service=search cause=first", 2),
        ("hedge_cancelled_total service=search", 1),
        ("hedge_saved_total service=search", 1),
        ("hedge_won_total service=search index=0", 1),
        ("hedge_won_total service=search index=1", 1),
    ];
    assert_eq!(
        counted,
        expected
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    );
}
