//! Which answer a read gets, and when.

use std::{mem::discriminant, sync::Arc};

use object_store::{Error, GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _};
use race_core::{OnFailure, Verdict, observe::Counters};
use race_object_store::classify;

use crate::slow::{HANGS, Kind, Slow, TEXT, after, ms};

#[test]
fn slow_get_is_sent_again_and_the_loser_is_dropped_at_once() {
    let slow = Slow::new([after(500), after(20)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 50], 70));
    assert_eq!(slow.dropped(), [(0, 70)]);
}

#[test]
fn fast_read_is_sent_once() {
    let slow = Slow::new([after(50)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.dropped()), (vec![0], vec![]));
}

#[test]
fn head_and_get_ranges_are_hedged_until_they_return() {
    let slow = Slow::new([after(500), after(20)]);
    let meta = slow.run(slow.hedged().head(&"a".into())).unwrap();
    assert_eq!((meta.size, slow.millis()), (TEXT.len() as u64, 70));
    assert_eq!(slow.dropped(), [(0, 70)]);

    let slow = Slow::new([after(500), after(20)]);
    let read = slow.run(slow.hedged().get_ranges(&"a".into(), &[4..9, 0..3]));
    assert_eq!(read.unwrap(), ["quick", "the"]);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 50], 70));
    assert_eq!(slow.dropped(), [(0, 70)]);
}

#[test]
fn head_does_not_wait_for_a_body() {
    let slow = Slow::new([after(20)]);
    slow.run(slow.hedged().head(&"a".into())).unwrap();
    assert_eq!((slow.reads(), slow.millis()), (vec![0], 20));
}

#[test]
fn range_and_conditions_go_with_each_attempt() {
    let slow = Slow::new([after(500), after(20)]);
    let read = slow.run(slow.hedged().get_range(&"a".into(), 4..9));
    assert_eq!(read.unwrap(), "quick");

    let slow = Slow::new([after(500), after(20)]);
    let suffix = GetOptions::new().with_range(Some(GetRange::Suffix(3)));
    let result = slow.run(slow.hedged().get_opts(&"a".into(), suffix));
    let result = result.unwrap();
    assert_eq!(result.range, 16..19);
    assert_eq!(slow.run(result.bytes()).unwrap(), "fox");

    let slow = Slow::new([after(500), after(20), after(20), after(20)]);
    let meta = slow.run(slow.hedged().head(&"a".into())).unwrap();
    let same = GetOptions::new().with_if_none_match(meta.e_tag.clone());
    let read = slow.run(slow.hedged().get_opts(&"a".into(), same));
    assert!(matches!(read, Err(Error::NotModified { .. })));
    let other = GetOptions::new().with_if_match(Some("other".to_owned()));
    let read = slow.run(slow.hedged().get_opts(&"a".into(), other));
    assert!(matches!(read, Err(Error::Precondition { .. })));
    assert_eq!(slow.reads().len(), 4, "the last two are answers");
}

/// The error that a read of this kind ends with.
fn error_of(kind: Kind) -> Error {
    let slow = Slow::new([after(0).fails(kind)]);
    slow.run(slow.get(&"a".into())).unwrap_err()
}

#[test]
fn answer_starts_no_attempt_and_is_returned_as_it_is() {
    for kind in Kind::ANSWERS {
        let expected = error_of(kind);
        let slow = Slow::new([after(10).fails(kind), after(10)]);
        let error = slow.bytes(&slow.hedged()).unwrap_err();
        assert_eq!(discriminant(&error), discriminant(&expected), "{kind:?}");
        assert_eq!(error.to_string(), expected.to_string());
        assert_eq!((slow.reads(), slow.millis()), (vec![0], 10), "{kind:?}");

        // Also that of a hedge, while another attempt runs.
        let slow = Slow::new([after(500), after(10).fails(kind), after(10)]);
        let store = slow.hedged().max_attempts(3);
        let error = slow.run(store.head(&"a".into())).unwrap_err();
        assert_eq!(discriminant(&error), discriminant(&expected), "{kind:?}");
        assert_eq!((slow.reads(), slow.millis()), (vec![0, 50], 60));
        assert_eq!(slow.dropped(), [(0, 60)]);
    }
}

#[test]
fn missing_object_is_an_answer() {
    let slow = Slow::new([after(10)]);
    let error = slow.run(slow.hedged().get(&"b".into())).unwrap_err();
    assert!(matches!(error, Error::NotFound { path, .. } if path == "b"));
    assert_eq!(slow.reads(), [0]);
}

#[test]
fn failure_starts_the_next_attempt_and_the_last_error_is_returned() {
    let fails = |millis| after(millis).fails(Kind::Generic);
    let slow = Slow::new([fails(10), after(10)]);
    assert_eq!(slow.bytes(&slow.hedged()).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 10], 20));

    let slow = Slow::new([fails(10), fails(10)]);
    let error = slow.bytes(&slow.hedged()).unwrap_err();
    assert_eq!(error.to_string(), "Generic Slow error: read 1");
    assert_eq!(slow.reads(), [0, 10]);

    let slow = Slow::new([fails(10), fails(20), fails(5)]);
    let store = slow.hedged().max_attempts(3);
    let read = slow.run(store.get_ranges(&"a".into(), &[0..3, 4..9]));
    let error = read.unwrap_err();
    assert_eq!(error.to_string(), "Generic Slow error: read 2");

    let slow = Slow::new([fails(10), after(10)]);
    let store = slow.hedged().on_failure(OnFailure::Wait);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 50]);
}

#[test]
fn classifier_decides_what_is_an_answer() {
    let slow = Slow::new([after(10).fails(Kind::NotFound), after(10)]);
    let store = slow.hedged().classify(|error| match error {
        Error::NotFound { .. } => Verdict::Retryable,
        error => classify(error),
    });
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 10]);
}

#[test]
fn classifier_may_capture() {
    let retried = Kind::NotFound;
    let is_retried = discriminant(&error_of(retried));
    let slow = Slow::new([after(10).fails(retried), after(10)]);
    let store = slow.hedged().classify(move |error| {
        if discriminant(error) == is_retried {
            return Verdict::Retryable;
        }
        classify(error)
    });
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!(slow.reads(), [0, 10]);
}

#[test]
fn accepted_and_fatal_errors_end_the_read() {
    for (verdict, wins) in [(Verdict::Accept, 1), (Verdict::Fatal, 0)] {
        let slow = Slow::new([after(10).fails(Kind::Generic), after(10)]);
        let counters = Arc::new(Counters::new());
        let store = slow.hedged().classify(move |_| verdict);
        let store = store.observer(counters.clone());
        let error = slow.bytes(&store).unwrap_err();
        assert_eq!(error.to_string(), "Generic Slow error: read 0");
        assert_eq!((slow.reads(), slow.millis()), (vec![0], 10));
        let counts = counters.counts();
        assert_eq!(
            (counts.wins, counts.failed),
            (wins, 1 - wins),
            "{verdict:?}"
        );
    }
}

#[test]
fn timeouts_name_their_length_and_their_path() {
    use race_object_store::TimeoutError;
    use std::error::Error as _;
    let timeout = |error: &Error| error.source().unwrap().to_string();

    let slow = Slow::new([after(HANGS), after(HANGS)]);
    let store = slow.hedged().attempt_timeout(ms(200));
    let error = slow.bytes(&store).unwrap_err();
    assert_eq!(
        timeout(&error),
        "every attempt to read a timed out after 200ms"
    );
    assert_eq!(slow.dropped(), [(0, 200), (1, 250)]);

    let slow = Slow::new([after(10).fails(Kind::Generic), after(HANGS)]);
    let store = slow.hedged().deadline(ms(120));
    let error = slow.bytes(&store).unwrap_err();
    assert_eq!(
        timeout(&error),
        "no answer for a within the deadline of 120ms"
    );
    let source = error.source().unwrap().downcast_ref::<TimeoutError>();
    let last = source.unwrap().source().unwrap();
    assert_eq!(last.to_string(), "Generic Slow error: read 0");
    assert_eq!(slow.dropped(), [(1, 120)]);

    // An error says more than a timeout that comes after it.
    let slow = Slow::new([after(10).fails(Kind::Generic), after(HANGS)]);
    let store = slow.hedged().attempt_timeout(ms(100));
    let error = slow.bytes(&store).unwrap_err();
    assert_eq!(error.to_string(), "Generic Slow error: read 0");
    assert_eq!(slow.millis(), 110);
}
