//! Races of random rules and latencies do what a naive simulator, written for this test, says: who
//! starts when, who wins when, who fails when, and why it ends.

mod plan;
mod raced;
mod simulator;

use proptest::prelude::*;

use self::plan::plan;
use crate::probe::cases;

/// What a race came to. Times are in milliseconds.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// When each attempt started.
    starts: Vec<u64>,
    /// Place and time of each that was accepted, in the order in which they were.
    accepted: Vec<(usize, u64)>,
    /// Place and time of each that failed, in the order of the places, and whether it timed out.
    failed: Vec<(usize, u64, bool)>,
    end: End,
    at: u64,
}

/// Why a race ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum End {
    Won,
    NoCandidates,
    OutOfReach,
    Fatal(usize),
    Deadline,
    /// It never does.
    #[default]
    Hangs,
}

proptest! {
    #![proptest_config(cases(8_000))]

    #[test]
    fn a_race_does_what_the_simulator_says(plan in plan()) {
        prop_assert_eq!(raced::race(&plan), simulator::simulate(&plan));
    }
}
