//! Random scripts on a set, checked against its contract after every step.

use proptest::{collection::vec, prelude::*};

use crate::cases;
use run::Run;
use step::step;

mod contract;
mod round;
mod run;
mod step;
mod world;

proptest! {
    #![proptest_config(cases(8_000))]

    #[test]
    fn few_attempts_are_polled_woken_and_dropped_by_contract(
        capacity in prop_oneof![Just(0), 1..10_usize],
        script in vec(step(3), 0..60),
    ) {
        Run::play(capacity, script);
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn many_attempts_are_polled_woken_and_dropped_by_contract(
        capacity in prop_oneof![Just(0), 1..300_usize],
        script in vec(step(70), 0..60),
    ) {
        Run::play(capacity, script);
    }
}
