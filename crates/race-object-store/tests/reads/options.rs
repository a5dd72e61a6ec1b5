//! The options of a hedged store.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, poll};
use object_store::ObjectStoreExt as _;
use race_core::{Budget, CatchUp, Steps};
use race_object_store::{Delays, ReadClass};

use crate::slow::{HANGS, Kind, Slow, after, ms};

#[test]
fn number_of_attempts_is_limited() {
    for (max, reads) in [(0, 1), (1, 1), (2, 2), (3, 3), (9, 5)] {
        let slow = Slow::new([(); 5].map(|()| after(225)));
        let store = slow.hedged().max_attempts(max);
        slow.run(store.head(&"a".into())).unwrap();
        assert_eq!(slow.reads().len(), reads, "{max}");
    }
}

#[test]
fn budget_limits_the_hedges_of_all_reads_and_clones() {
    let slow = Slow::new([(); 12].map(|()| after(100)));
    let budget = Arc::new(Budget::percent(0).reserve(2));
    let store = slow.hedged().budget(budget);
    for _ in 0..5 {
        slow.run(store.head(&"a".into())).unwrap();
        slow.run(store.clone().get_range(&"a".into(), 0..3))
            .unwrap();
    }
    assert_eq!(slow.reads().len(), 12, "two hedges");
}

#[test]
fn limits_on_attempts_at_once_and_on_their_gap_apply() {
    let slow = Slow::new([after(100), after(100)]);
    let store = slow.hedged_by(ms(10)).max_attempts(3).max_in_flight(1);
    slow.run(store.head(&"a".into())).unwrap();
    assert_eq!(slow.reads(), [0]);

    let fails = || after(5).fails(Kind::Generic);
    let slow = Slow::new([fails(), fails(), after(5)]);
    let store = slow.hedged().max_attempts(3).min_gap(ms(20));
    slow.run(store.head(&"a".into())).unwrap();
    assert_eq!(slow.reads(), [0, 20, 40]);
}

#[test]
fn delay_is_any_policy() {
    let slow = Slow::new([(); 3].map(|()| after(500)));
    let store = slow.hedged_by(Steps::new([10, 30].map(ms))).max_attempts(3);
    slow.run(store.head(&"a".into())).unwrap();
    assert_eq!(slow.reads(), [0, 10, 40]);
}

#[test]
fn delay_is_chosen_by_class() {
    struct HeadsSooner;

    impl<T> Delays<T> for HeadsSooner {
        type Delay = Duration;

        fn delay(&self, class: ReadClass) -> Duration {
            ms(if class == ReadClass::Head { 10 } else { 30 })
        }
    }

    let slow = Slow::new([(); 4].map(|()| after(100)));
    let store = slow.hedged_by(HeadsSooner);
    slow.run(store.head(&"a".into())).unwrap();
    slow.run(store.get(&"a".into())).unwrap();
    assert_eq!(slow.reads(), [0, 10, 100, 130]);
}

#[test]
fn missed_hedges_are_made_up_for_if_asked() {
    let slow = Slow::new([after(HANGS), after(HANGS), after(20)]);
    let burst = slow.hedged().max_attempts(3).catch_up(CatchUp::Burst);
    let path = "a".into();
    slow.run(async {
        let mut read = Box::pin(burst.head(&path));
        assert!(poll!(&mut read).is_pending());
        slow.clock.advance(ms(500));
        read.await.unwrap();
    });
    assert_eq!(slow.reads(), [0, 500, 500]);
}

#[test]
fn dropping_a_read_drops_its_attempts() {
    let slow = Slow::new([after(HANGS), after(HANGS)]);
    let (store, path) = (slow.hedged_by(ms(0)), "a".into());
    assert!(store.get(&path).now_or_never().is_none());
    assert_eq!((slow.reads(), slow.dropped().len()), (vec![0, 0], 2));
}
