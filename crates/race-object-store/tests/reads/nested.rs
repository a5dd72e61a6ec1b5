//! A hedged store within a hedged store.

use object_store::{Error, ObjectStoreExt as _};
use race_object_store::GenericHedgedStore;

use crate::slow::{HANGS, Kind, Slow, TEXT, after, ms};

#[test]
fn each_attempt_of_the_outer_store_is_hedged_by_the_inner_one() {
    let slow = Slow::new([after(HANGS), after(HANGS), after(10).chunks(5)]);
    let inner = slow.hedged_by(ms(20));
    let store = GenericHedgedStore::with_timer(inner, slow.clock.timer(), ms(50));
    assert_eq!(
        slow.bytes(&store).unwrap(),
        TEXT,
        "in order, from its start"
    );
    assert_eq!(slow.reads(), [0, 20, 50]);
    let mut dropped = slow.dropped();
    dropped.sort_unstable();
    assert_eq!(dropped, [(0, 65), (1, 65)]);
    assert_eq!(store.to_string(), "HedgedStore(HedgedStore(Slow))");
}

#[test]
fn answer_of_the_inner_store_is_one_of_the_outer_store() {
    let slow = Slow::new([after(10).fails(Kind::NotFound)]);
    let inner = slow.hedged_by(ms(20));
    let store = GenericHedgedStore::with_timer(inner, slow.clock.timer(), ms(50));
    let error = slow.run(store.head(&"a".into())).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
    assert_eq!(slow.reads(), [0]);
}

#[test]
fn timeout_of_the_inner_store_is_a_failure_of_an_outer_attempt() {
    let slow = Slow::new([after(HANGS), after(HANGS), after(10)]);
    let inner = slow.hedged_by(ms(20)).deadline(ms(30));
    let store = GenericHedgedStore::with_timer(inner, slow.clock.timer(), ms(50));
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.millis()), (vec![0, 20, 30], 40));
}
