use std::sync::{Arc, Mutex};

use object_store::{ObjectStore as _, ObjectStoreExt as _};
use race_core::{
    Adaptive,
    observe::{Counters, Traced},
};
use race_object_store::{AdaptiveDelays, ReadClass, SizeClass};
use tracing::{Instrument as _, Span, info_span};
use tracing_subscriber::{registry::Registry, util::SubscriberInitExt as _};

use crate::slow::{HANGS, Kind, Slow, after, ms};

#[test]
fn counters_count_hedges_of_all_reads() {
    let not_found = after(5).fails(Kind::NotFound);
    let slow = Slow::new([after(500), after(20), after(30), not_found]);
    let counters = Arc::new(Counters::new());
    let store = slow.hedged().observer(counters.clone());
    slow.run(store.get(&"a".into())).unwrap();
    slow.run(store.get_ranges(&"a".into(), &[0..3, 4..9]))
        .unwrap();
    slow.run(store.head(&"a".into())).unwrap_err();
    let counts = counters.counts();
    assert_eq!((counts.races, counts.extra, counts.helped), (3, 1, 1));
    assert_eq!(
        (counts.wins, counts.failed),
        (3, 0),
        "NotFound is an answer"
    );
    assert_eq!((counts.cancelled, counts.wasted), (1, ms(70)));
}

#[test]
fn each_class_learns_its_own_delay() {
    const LARGE: std::ops::Range<u64> = 0..10_000_000;
    let alternate = [after(20), after(60), after(90)].into_iter().cycle();
    let end = [after(1_000), after(5), after(1_000), after(5)];
    let slow = Slow::new(alternate.take(1_200).chain(end));
    let delays = AdaptiveDelays::new(|_| Adaptive::quantile(0.95).without_budget());
    let store = slow.hedged_by(delays.clone());
    for _ in 0..400 {
        slow.run(store.head(&"a".into())).unwrap();
        slow.run(store.get_range(&"a".into(), 0..3)).unwrap();
        slow.run(store.get_range(&"a".into(), LARGE)).unwrap();
    }
    let small = ReadClass::Get(SizeClass::UpTo64KiB);
    let large = ReadClass::Get(SizeClass::Larger);
    let learnt = |class| delays.of(class).delay().map(|it| it.as_millis());
    assert_eq!(learnt(ReadClass::Head), Some(20));
    assert_eq!((learnt(small), learnt(large)), (Some(60), Some(90)));
    assert_eq!(learnt(ReadClass::Get(SizeClass::UpTo1MiB)), None);
    assert_eq!(slow.reads().len(), 1_200);

    // Clones share what is learnt.
    let (began, copy) = (slow.millis(), store.clone());
    slow.run(copy.head(&"a".into())).unwrap();
    slow.run(copy.get_range(&"a".into(), 0..3)).unwrap();
    let hedges: Vec<_> = slow.reads()[1_200..].iter().map(|at| at - began).collect();
    assert!((20..=21).contains(&hedges[1]), "{hedges:?}");
    let second = hedges[3] - hedges[2];
    assert!((60..=61).contains(&second), "{hedges:?}");
}

#[test]
fn budget_of_a_learnt_delay_bounds_the_load_when_all_reads_become_slow() {
    let slow = Slow::new(
        (0..1_000)
            .map(|_| after(20))
            .chain((0..2_000).map(|_| after(220))),
    );
    let delays = AdaptiveDelays::extra_load(5.0);
    let store = slow.hedged_by(delays);
    for _ in 0..2_000 {
        slow.run(store.head(&"a".into())).unwrap();
    }
    let extra = slow.reads().len() - 2_000;
    assert!((1..=100).contains(&extra), "{extra} are more than 5 %");
}

/// Reads "a" and its body, and returns the spans in which requests are made.
fn spans_of_requests(slow: &Slow) -> Vec<Option<&'static str>> {
    let _subscribed = Registry::default().set_default();
    let spans = Arc::new(Mutex::new(vec![]));
    let inner = {
        let (slow, spans) = (slow.clone(), spans.clone());
        crate::passed_on::Recorder::new(slow, move || {
            let name = Span::current().metadata().map(|it| it.name());
            spans.lock().unwrap().push(name);
        })
    };
    let store =
        race_object_store::GenericHedgedStore::with_timer(inner, slow.clock.timer(), ms(50))
            .observer(Traced::new());
    let path = "a".into();
    let read = async { store.get(&path).await?.bytes().await };
    slow.run(read.instrument(info_span!("caller"))).unwrap();
    spans.lock().unwrap().clone()
}

#[test]
fn attempts_are_polled_in_their_span() {
    let slow = Slow::new([after(500), after(20)]);
    assert_eq!(spans_of_requests(&slow), [Some("attempt"); 2]);
}

#[test]
fn continuations_are_polled_in_their_span() {
    let slow = Slow::new([after(10).stalls_at(1, HANGS), after(20)]);
    assert_eq!(spans_of_requests(&slow), [Some("attempt"); 2]);
}
