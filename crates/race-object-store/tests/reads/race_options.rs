//! The options of a hedged store as a value.

use std::time::Duration;

use futures::poll;
use object_store::ObjectStoreExt as _;
use race_core::{CatchUp, OnFailure, RaceOptions, test::VirtualTimer};
use race_object_store::GenericHedgedStore;

use crate::slow::{HANGS, Kind, Slow, after, ms};

type Hedged = GenericHedgedStore<Slow, VirtualTimer, Duration>;

/// The answer, when it came, and when the inner store was read.
type Seen = (String, Duration, Vec<u64>);

/// Reads once; the read is first polled 120 ms late. Each option changes it.
fn run(change: impl FnOnce(Hedged) -> Hedged) -> Seen {
    let fails = after(5).fails(Kind::Generic);
    let slow = Slow::new([after(300), fails, after(HANGS), after(HANGS)]);
    let (store, path) = (change(slow.hedged().max_attempts(4)), "a".into());
    let answer = slow.run(async {
        let mut read = Box::pin(store.head(&path));
        assert!(poll!(&mut read).is_pending());
        slow.clock.advance(ms(120));
        read.await.map(|meta| meta.size)
    });
    (format!("{answer:?}"), slow.clock.elapsed(), slow.reads())
}

#[test]
fn value_equals_the_setters() {
    const NONE: RaceOptions = RaceOptions::new();
    macro_rules! check {
        ($($option:ident $argument:expr;)*) => {$(
            let setter = run(|store| store.$option($argument));
            let value = run(|store| store.options(NONE.$option($argument)));
            let kept = run(|store| store.$option($argument).options(NONE));
            assert_ne!(setter, run(|store| store), stringify!($option));
            assert_eq!(setter, value, stringify!($option));
            assert_eq!(setter, kept, "an option that is not set changes nothing");
        )*
            let setters = run(|store| store$(.$option($argument))*);
            let value = NONE$(.$option($argument))*;
            assert_eq!(setters, run(|store| store.options(value)));
        };
    }
    check! {
        max_attempts 2;
        max_in_flight 1;
        on_failure OnFailure::Wait;
        catch_up CatchUp::Burst;
        min_gap ms(20);
        attempt_timeout ms(130);
        deadline ms(140);
    }
}

#[test]
fn zero_in_a_value_means_one() {
    for zero in [
        RaceOptions::new().max_attempts(0),
        RaceOptions::new().max_in_flight(0),
        RaceOptions::new().max_attempts(0).max_in_flight(0),
    ] {
        let (answer, at, reads) = run(|store| store.options(zero));
        assert!(answer.starts_with("Ok"), "{answer}");
        assert_eq!((at, reads), (ms(300), vec![0]));
    }
}

#[test]
fn value_without_a_maximum_leaves_the_default_of_two() {
    let slow = Slow::new([(); 5].map(|()| after(225)));
    let options = RaceOptions::new().deadline(ms(900));
    let store = slow.hedged().options(options);
    slow.run(store.head(&"a".into())).unwrap();
    assert_eq!(slow.reads(), [0, 50]);
}
