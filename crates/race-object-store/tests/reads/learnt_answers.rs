//! An answer wins its read, although it is an error: it is counted and learnt as a win.

use std::sync::Arc;

use object_store::{GetOptions, ObjectStore as _, ObjectStoreExt as _};
use race_core::{Adaptive, observe::Counters};
use race_object_store::{AdaptiveDelays, ReadClass, SizeClass};

use crate::slow::{HANGS, Kind, Slow, after, ms};

#[test]
fn latencies_of_answers_are_learnt_and_slow_ones_are_hedged() {
    for kind in Kind::ANSWERS {
        let path = "a".into();
        let answers = (0..200).map(|_| after(20).fails(kind));
        let slow = Slow::new(answers.chain([after(HANGS), after(5).fails(kind)]));
        let delays = AdaptiveDelays::new(|_| Adaptive::quantile(0.95).without_budget());
        let counters = Arc::new(Counters::new());
        let store = slow.hedged_by(delays.clone()).observer(counters.clone());
        let if_changed = || GetOptions::new().with_if_none_match(Some("tag"));
        for _ in 0..200 {
            let read = store.get_opts(&path, if_changed());
            slow.run(read).unwrap_err();
        }
        let learnt = delays.of(ReadClass::Get(SizeClass::Larger));
        assert_eq!(learnt.samples(), 200, "{kind:?}");
        let delay = learnt.delay().unwrap();
        assert!((ms(20)..=ms(21)).contains(&delay), "{delay:?}");
        let counts = counters.counts();
        assert_eq!((counts.wins, counts.failed), (200, 0), "{kind:?}");

        let read = store.get_opts(&path, if_changed());
        slow.run(read).unwrap_err();
        assert_eq!(slow.reads().len(), 202);
        assert_eq!(slow.dropped().len(), 1, "the loser");
    }
}

#[test]
fn hedged_head_that_ends_in_not_found_is_won_by_the_hedge() {
    let slow = Slow::new([after(500), after(20).fails(Kind::NotFound)]);
    let counters = Arc::new(Counters::new());
    let store = slow.hedged().observer(counters.clone());
    slow.run(store.head(&"a".into())).unwrap_err();
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.helped, counts.failed), (1, 1, 0));
}

#[test]
fn failure_is_counted_and_not_learnt() {
    let fails = || after(20).fails(Kind::Generic);
    let slow = Slow::new([fails(), fails()]);
    let delays = AdaptiveDelays::extra_load(5.0);
    let counters = Arc::new(Counters::new());
    let store = slow.hedged_by(delays.clone()).observer(counters.clone());
    slow.run(store.head(&"a".into())).unwrap_err();
    assert_eq!(delays.of(ReadClass::Head).samples(), 0);
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.failed, counts.failovers), (0, 2, 1));
}
