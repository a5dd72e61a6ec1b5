//! A body that stalls is hedged by a continuation.

use std::{sync::Arc, task::Poll};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, poll};
use object_store::{Extensions, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, Result};
use race_core::{Adaptive, Budget, Steps, Verdict, observe::Counters};
use race_object_store::{AdaptiveDelays, ReadClass, SizeClass};

use crate::slow::{HANGS, Kind, Slow, TEXT, after, ms};

#[test]
fn stalled_body_is_continued_from_its_next_byte() {
    let slow = Slow::new([after(10).stalls_at(2, HANGS), after(20)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 80));
    assert_eq!(slow.dropped(), [(0, 80)], "dropped at once");
    assert_eq!(slow.asked()[1].range, Some(GetRange::Bounded(8..19)));
}

#[test]
fn body_that_goes_on_first_stays() {
    let slow = Slow::new([after(10).stalls_at(2, 55), after(20)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 65));
    assert_eq!(slow.dropped(), [(1, 65)]);
}

#[test]
fn continuation_asks_for_the_rest_of_the_range_of_the_same_version() {
    for (range, rest) in [
        (None, 4..19),
        (Some(GetRange::Bounded(2..11)), 6..11),
        (Some(GetRange::Bounded(2..90)), 6..19),
        (Some(GetRange::Offset(5)), 9..19),
        (Some(GetRange::Suffix(6)), 17..19),
    ] {
        let slow = Slow::new([after(10).stalls_at(1, HANGS)]);
        let store = slow.hedged();
        let e_tag = slow.run(slow.memory.head(&"a".into())).unwrap().e_tag;
        let mut extensions = Extensions::new();
        extensions.insert("of the caller");
        let last_modified = slow
            .run(slow.memory.head(&"a".into()))
            .unwrap()
            .last_modified;
        let asked = GetOptions::new()
            .with_range(range)
            .with_if_match(Some("*"))
            .with_if_none_match(Some("another"))
            .with_if_unmodified_since(Some(last_modified))
            .with_if_modified_since(Some(last_modified))
            .with_extensions(extensions);
        let read = slow.run(store.get_opts(&"a".into(), asked)).unwrap();
        let expected = TEXT[read.range.start as usize..read.range.end as usize].to_owned();
        assert_eq!(slow.run(read.bytes()).unwrap(), expected);
        let asked = &slow.asked()[1];
        assert_eq!(asked.range, Some(GetRange::Bounded(rest)));
        assert_eq!(asked.if_match, e_tag);
        assert_eq!((&asked.if_none_match, &asked.version), (&None, &None));
        assert_eq!(asked.if_modified_since, None);
        assert_eq!(asked.if_unmodified_since, None);
        assert_eq!(asked.extensions.get(), Some(&"of the caller"));
    }
}

/// Reads "a", which is overwritten after its first byte.
fn read_overwritten(slow: &Slow, text: &'static str) -> Result<Bytes> {
    let (store, path) = (slow.hedged().max_attempts(3), "a".into());
    let read = slow.run(store.get(&path)).unwrap();
    slow.run(slow.memory.put(&path, text.into())).unwrap();
    slow.run(read.bytes())
}

#[test]
fn object_that_is_overwritten_is_never_mixed() {
    let slow = Slow::new([after(10).stalls_at(2, 500), after(20)]);
    assert_eq!(
        read_overwritten(&slow, "THE QUICK BROWN FOX").unwrap(),
        TEXT
    );
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 510));
    assert_eq!(slow.dropped(), [], "the continuation was refused");
}

#[test]
fn answer_of_another_version_is_never_mixed() {
    for text in ["THE QUICK BROWN FOX", "THE QUICK FOX"] {
        let slow = Slow::new([after(10).stalls_at(2, 500), after(20).ignores_conditions()]);
        assert_eq!(read_overwritten(&slow, text).unwrap(), TEXT);
        assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 510));
    }
}

#[test]
fn nothing_is_mixed_without_a_strong_tag_or_a_version() {
    for e_tag in [None, Some("W/\"weak\""), Some("*"), Some("")] {
        let slow = Slow::new([after(10).stalls_at(2, 500).tagged(e_tag)]);
        assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
        assert_eq!((slow.reads(), slow.millis()), (vec![0], 510), "{e_tag:?}");
    }
}

#[test]
fn hedges_of_bodies_can_be_turned_off() {
    let slow = Slow::new([after(10).stalls_at(2, 500), after(20)]);
    let store = slow.hedged().hedge_bodies(false);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0]);
}

#[test]
fn one_attempt_or_one_in_flight_leaves_no_place_for_a_continuation() {
    for (max_attempts, max_in_flight) in [(1, 9), (9, 1)] {
        let slow = Slow::new([after(10).stalls_at(2, 500), after(20)]);
        let store = slow.hedged().max_attempts(max_attempts);
        let store = store.max_in_flight(max_in_flight);
        assert_eq!(slow.bytes(&store).unwrap(), TEXT);
        assert_eq!(slow.reads(), [0]);
    }
}

#[test]
fn slow_reader_is_no_stall() {
    let slow = Slow::new([after(10).chunks(40)]);
    let store = slow.hedged();
    let mut body = slow.run(store.get(&"a".into())).unwrap().into_stream();
    let mut bytes = vec![];
    loop {
        slow.clock.advance(ms(10_000));
        let next = slow.run(async {
            let next = poll!(body.next());
            if let Poll::Ready(next) = next {
                return next;
            }
            // It comes back long after it was woken.
            for _ in 0..10_000 {
                slow.clock.advance(ms(1));
            }
            body.next().await
        });
        match next {
            Some(chunk) => bytes.extend(chunk.unwrap()),
            None => break,
        }
    }
    assert_eq!((bytes.as_slice(), slow.reads()), (TEXT.as_bytes(), vec![0]));
}

#[test]
fn reader_that_polls_without_a_wake_has_waited() {
    let slow = Slow::new([after(10).stalls_at(1, HANGS), after(0)]);
    let store = slow.hedged();
    slow.run(async {
        let mut body = store.get(&"a".into()).await.unwrap().into_stream();
        body.next().await.unwrap().unwrap();
        assert!(poll!(body.next()).is_pending());
        slow.clock.advance(ms(30));
        body.next().await.unwrap().unwrap();
        assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 60));
    });
}

#[test]
fn continuation_takes_over_if_the_body_breaks_off() {
    let slow = Slow::new([after(10).stalls_at(2, 60).breaks_at(2), after(100)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 160));
}

#[test]
fn error_is_that_of_the_body_and_not_of_its_continuation() {
    // The continuation fails before the body does, and after it.
    for headers in [5, 100] {
        let fails = after(headers).fails(Kind::Generic);
        let slow = Slow::new([after(10).stalls_at(2, 60).breaks_at(2), fails]);
        let error = slow.bytes(&slow.hedged()).unwrap_err();
        assert_eq!(error.to_string(), "Generic Slow error: read 0");
        assert_eq!(slow.reads(), [0, 60]);
    }
}

#[test]
fn continuation_that_fails_does_not_fail_the_read() {
    for kind in [Kind::Generic, Kind::NotFound, Kind::PermissionDenied] {
        let slow = Slow::new([after(10).stalls_at(2, 500), after(5).fails(kind)]);
        assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
        assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 510));
    }
}

#[test]
fn refused_condition_ends_the_continuations_whatever_errors_mean() {
    let slow = Slow::new([after(10).stalls_at(1, 500), after(0), after(0)]);
    let store = slow.hedged().max_attempts(3);
    let store = store.classify(|_| Verdict::Retryable);
    let mut body = slow.run(store.get(&"a".into())).unwrap().into_stream();
    slow.run(slow.memory.put(&"a".into(), "another".into()))
        .unwrap();
    while let Some(chunk) = slow.run(body.next()) {
        chunk.unwrap();
    }
    assert_eq!(slow.reads(), [0, 60]);
}

#[test]
fn each_stall_starts_a_continuation_up_to_the_number_of_attempts() {
    let stalls = || after(10).stalls_at(1, HANGS);
    let slow = Slow::new([stalls(), stalls(), stalls(), after(10)]);
    let store = slow.hedged().max_attempts(4);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 60, 120, 180], "four bytes each");
    assert_eq!(slow.dropped(), [(0, 70), (1, 130), (2, 190)]);

    // Two in the same stall.
    let slow = Slow::new([stalls(), after(HANGS), after(10)]);
    let store = slow.hedged_by(Steps::new([50, 30].map(ms))).max_attempts(3);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60, 90], 100));

    // With two attempts, the second stall is waited for.
    let slow = Slow::new([stalls(), after(10).stalls_at(1, 500), after(10)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 570));
}

#[test]
fn places_and_gaps_limit_continuations() {
    let slow = Slow::new([after(10).stalls_at(1, 300), after(HANGS), after(HANGS)]);
    let store = slow.hedged().max_attempts(3).max_in_flight(2);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 60]);

    let slow = Slow::new([after(10).stalls_at(1, HANGS), after(5)]);
    let store = slow.hedged().min_gap(ms(200));
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 210]);
}

#[test]
fn continuation_without_a_byte_in_time_is_given_up() {
    for limit in [30, 40] {
        let slow = Slow::new([after(10).stalls_at(2, 200), after(HANGS)]);
        let store = slow.hedged();
        let store = match limit {
            30 => store.attempt_timeout(ms(30)),
            _ => store.attempt_timeout(ms(90)).deadline(ms(40)),
        };
        assert_eq!(slow.bytes(&store).unwrap(), TEXT);
        assert_eq!((slow.reads(), slow.millis()), (vec![0, 60], 210));
        assert_eq!(slow.dropped(), [(1, 60 + limit)]);
    }
}

#[test]
fn budget_pays_for_continuations_and_bodies_pay_nothing_in() {
    let stalls = || after(10).stalls_at(1, 500);
    let slow = Slow::new([stalls(), after(10), stalls(), after(10), stalls()]);
    let budget = Arc::new(Budget::percent(50).reserve(1));
    let store = slow.hedged().budget(budget);
    for requests in [2, 4, 5] {
        assert_eq!(slow.bytes(&store).unwrap(), TEXT);
        assert_eq!(slow.reads().len(), requests);
    }
}

#[test]
fn counters_count_continuations_as_extra_attempts() {
    let slow = Slow::new([after(10).stalls_at(2, HANGS), after(20), after(10)]);
    let counters = Arc::new(Counters::new());
    let store = slow.hedged().observer(counters.clone());
    slow.bytes(&store).unwrap();
    slow.bytes(&store).unwrap();
    let counts = counters.counts();
    assert_eq!((counts.races, counts.extra, counts.helped), (2, 1, 1));
    assert_eq!(
        (counts.wins, counts.cancelled),
        (3, 0),
        "a continuation is a win more"
    );
}

#[test]
fn learnt_delay_of_the_class_hedges_bodies_within_its_budget() {
    let delays = AdaptiveDelays::new(|_| {
        let adaptive = Adaptive::extra_load(5.0).initial(ms(50));
        adaptive.budget(Budget::percent(0).reserve(1))
    });
    let class = ReadClass::Get(SizeClass::Larger);
    let slow = Slow::new([
        after(10).stalls_at(2, HANGS),
        after(20),
        after(10).stalls_at(2, 500),
    ]);
    let store = slow.hedged_by(delays.clone());
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 60]);
    assert_eq!(delays.of(class).samples(), 2, "both requests");
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads().len(), 3, "the budget is used up");
}

#[test]
fn bodies_are_independent_of_the_store_and_of_the_task() {
    let slow = Slow::new([after(10).stalls_at(2, HANGS), after(20)]);
    let mut body = {
        let store = slow.hedged();
        slow.run(store.get(&"a".into())).unwrap().into_stream()
    };
    slow.run(async {
        body.next().await.unwrap().unwrap();
        body.next().await.unwrap().unwrap();
        // Another task polls first, and goes away.
        assert!(body.next().now_or_never().is_none());
    });
    assert_eq!(slow.run(body.next()).unwrap().unwrap(), "k br");
    assert_eq!(slow.millis(), 80);
}

#[test]
fn zero_delay_starts_all_continuations_at_once() {
    let slow = Slow::new([after(0).stalls_at(1, HANGS), after(30), after(10)]);
    let store = slow.hedged_by(ms(0)).max_attempts(3);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 0, 0], 10));
}

#[test]
fn end_of_a_body_is_not_hedged() {
    let slow = Slow::new([after(10).stalls_at(5, 500)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0], 510));
}
