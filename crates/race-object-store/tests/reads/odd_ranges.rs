//! A read with an odd range reaches the inner store once, and no race begins.

#![expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]

use std::{ops::Range, sync::Arc};

use object_store::{GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _};
use race_core::{Budget, observe::Counters};
use race_object_store::{AdaptiveDelays, ReadClass, SizeClass};

use crate::slow::{Slow, TEXT, after};

#[test]
fn get_ranges_without_a_range_is_passed_on() {
    let slow = Slow::new([]);
    let (delays, counters) = (AdaptiveDelays::extra_load(5.0), Arc::new(Counters::new()));
    let budget = Arc::new(Budget::percent(100));
    let store = slow
        .hedged_by(delays.clone())
        .observer(counters.clone())
        .budget(budget.clone());
    let read = slow.run(store.get_ranges(&"a".into(), &[]));
    assert!(read.unwrap().is_empty());
    assert_eq!(slow.reads(), [0], "the store is asked");
    assert_eq!(counters.counts().races, 0);
    let class = ReadClass::Ranges(SizeClass::UpTo64KiB);
    assert_eq!(delays.of(class).samples(), 0, "it teaches nothing");
    assert_eq!(budget.balance(), 0, "it deposits nothing");
}

#[test]
fn empty_and_inverted_ranges_are_rejected_once() {
    for range in [3..3, 4..3, 90..90] {
        let slow = Slow::new([]);
        let counters = Arc::new(Counters::new());
        let store = slow.hedged().observer(counters.clone());
        let path = "a".into();
        let expected = slow.memory.get_range(&path, range.clone());
        let expected = slow.run(expected).unwrap_err().to_string();

        let error = slow.run(store.get_range(&path, range.clone()));
        assert_eq!(error.unwrap_err().to_string(), expected);
        let head = GetOptions::new().with_head(true);
        let head = head.with_range(Some(GetRange::Bounded(range.clone())));
        slow.run(store.get_opts(&path, head)).unwrap_err();
        let ranges: [Range<u64>; 1] = [range];
        let error = slow.run(store.get_ranges(&path, &ranges));
        assert_eq!(error.unwrap_err().to_string(), expected);
        assert_eq!(slow.reads().len(), 3, "one for each operation");
        assert_eq!(counters.counts().races, 0);
    }
}

#[test]
fn ranges_that_ask_for_bytes_are_hedged() {
    let length = TEXT.len() as u64;
    for (range, bytes) in [
        (GetRange::Bounded(16..900), "fox"),
        (GetRange::Suffix(900), TEXT),
        (GetRange::Offset(length - 3), "fox"),
        // Stores differ on whether this is an error.
        (GetRange::Suffix(0), ""),
    ] {
        let slow = Slow::new([after(500), after(20)]);
        let options = GetOptions::new().with_range(Some(range));
        let result = slow.run(slow.hedged().get_opts(&"a".into(), options));
        assert_eq!(slow.run(result.unwrap().bytes()).unwrap(), bytes);
        assert_eq!(slow.reads(), [0, 50]);
    }
}

/// The error of the store is a `Generic` one, which is no answer.
#[test]
fn range_beyond_the_end_is_sent_again() {
    let slow = Slow::new([]);
    let length = TEXT.len() as u64;
    let read = slow.run(slow.hedged().get_range(&"a".into(), length..length + 1));
    read.unwrap_err();
    assert_eq!(slow.reads(), [0, 0]);
}
