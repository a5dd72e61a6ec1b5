//! What a hedged store shows of itself.

use std::{sync::Arc, time::Duration};

use race_core::{Adaptive, Budget, OnFailure, Verdict};
use race_object_store::{AdaptiveDelays, ReadClass};

use crate::slow::{Slow, ms};

#[test]
fn debug_shows_the_inner_store_the_delay_and_the_options() {
    let store = Slow::new([]).hedged();
    assert_eq!(
        format!("{store:?}"),
        "HedgedStore { inner: Slow, delays: 50ms, options: RaceOptions { \
         max_attempts: Some(2), max_in_flight: None, catch_up: None, on_failure: None, \
         min_gap: None, attempt_timeout: None, deadline: None }, budget: None, \
         classify: default, hedge_bodies: true, .. }"
    );

    let store = store
        .max_attempts(3)
        .max_in_flight(2)
        .on_failure(OnFailure::Any)
        .deadline(ms(900))
        .budget(Arc::new(Budget::percent(5)))
        .classify(|_| Verdict::Fatal);
    let shown = format!("{store:?}");
    for option in [
        "max_attempts: Some(3)",
        "max_in_flight: Some(2)",
        "on_failure: Some(Any)",
        "deadline: Some(900ms)",
        "budget: Some(Budget",
        "classify: custom",
    ] {
        assert!(shown.contains(option), "{option} is missing in {shown}");
    }
}

#[test]
fn debug_shows_learnt_delays_by_class() {
    let delays = AdaptiveDelays::new(|class| match class {
        ReadClass::Head => Adaptive::quantile(0.9).initial(ms(20)),
        _ => Adaptive::quantile(0.9),
    });
    let store = Slow::new([]).hedged_by(delays);
    let shown = format!("{store:?}");
    assert!(
        shown.contains("delays: AdaptiveDelays {Head: 20ms},"),
        "{shown}"
    );
}

#[test]
fn debug_names_the_type_of_other_delays() {
    fn twice(index: usize) -> Option<Duration> {
        (index < 3).then_some(ms(50))
    }
    let store = Slow::new([]).hedged_by(twice);
    let shown = format!("{store:?}");
    assert!(shown.contains("::twice, options"), "{shown}");
}
