//! What an outage costs: fail-overs, with and without a budget.

use std::sync::Arc;

use object_store::ObjectStoreExt as _;
use race_core::{Budget, OnFailure, Verdict, test::VirtualTimer};
use race_object_store::{AdaptiveDelays, Delays, GenericHedgedStore, classify};

use crate::slow::{HANGS, Kind, Slow, TEXT, after, ms};

const READS: usize = 20;

fn outage() -> Slow {
    Slow::new((0..2 * READS).map(|_| after(10).fails(Kind::Generic)))
}

/// Fails all reads. Returns how often they were sent.
fn sent<D: Delays<VirtualTimer>>(
    slow: &Slow,
    store: &GenericHedgedStore<Slow, VirtualTimer, D>,
) -> usize {
    for _ in 0..READS {
        slow.run(store.head(&"a".into())).unwrap_err();
    }
    slow.reads().len()
}

#[test]
fn failover_is_free_by_default() {
    let slow = outage();
    let store = slow.hedged().budget(Arc::new(Budget::percent(0)));
    assert_eq!(sent(&slow, &store), 2 * READS);

    let slow = outage();
    let store = slow.hedged_by(AdaptiveDelays::extra_load(5.0));
    assert_eq!(sent(&slow, &store), 2 * READS);

    // Also if it waits for the delay.
    let slow = outage();
    let store = slow.hedged().budget(Arc::new(Budget::percent(0)));
    let store = store.on_failure(OnFailure::Wait);
    assert_eq!(sent(&slow, &store), 2 * READS);
    assert_eq!(slow.reads()[..2], [0, 50]);
}

#[test]
fn budget_that_charges_failovers_limits_them() {
    let budget = || Arc::new(Budget::percent(0).reserve(3).charge_failover());
    let slow = outage();
    let store = slow.hedged().budget(budget());
    assert_eq!(sent(&slow, &store), READS + 3);

    let slow = outage();
    let store = slow.hedged_by(AdaptiveDelays::extra_load(5.0));
    assert_eq!(sent(&slow, &store.budget(budget())), READS + 3);
}

#[test]
fn verdict_turns_failovers_off_and_keeps_hedges() {
    let no_failover = |error: &_| match classify(error) {
        Verdict::Retryable => Verdict::NoMoreStarts,
        verdict => verdict,
    };
    let slow = outage();
    assert_eq!(sent(&slow, &slow.hedged().classify(no_failover)), READS);

    let slow = Slow::new([after(HANGS), after(10)]);
    let store = slow.hedged().classify(no_failover);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);

    let slow = Slow::new([after(100), after(10).fails(Kind::Generic), after(0)]);
    let store = slow.hedged().max_attempts(3).classify(no_failover);
    assert_eq!(slow.bytes(&store).unwrap(), TEXT);
    assert_eq!((slow.reads(), slow.clock.elapsed()), (vec![0, 50], ms(100)));
}
