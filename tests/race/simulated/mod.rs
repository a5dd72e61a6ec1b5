//! Races with random options, candidates and polls do what a naive simulator, written for this
//! test, says: what starts when and why, what wins, what fails, and how the race ends.

mod model;
mod plan;
mod polls;
mod race;
mod source;

use ::race::observe::Cause;
use proptest::prelude::*;

use self::plan::plan;
use crate::probe::cases;

/// What a race came to. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    /// When each attempt started.
    starts: Vec<u64>,
    /// What happened to the places that starts need, and when.
    places: Vec<(u64, Place)>,
    /// Why each attempt started; empty if the race has no observer.
    causes: Vec<Cause>,
    /// Index and time of each attempt that was accepted, in this order.
    accepted: Vec<(usize, u64)>,
    /// Index and time of each attempt that failed and is kept, in this order, and whether it timed
    /// out.
    failed: Vec<(usize, u64, bool)>,
    /// How many attempts failed, kept or not.
    failures: usize,
    end: End,
    at: u64,
}

/// What happens to the place that the next start needs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Awaited,
    Taken,
    /// It, or the wait for it, was given up.
    PutBack,
}

impl Outcome {
    /// Forgets what is given up with the race itself, when it ends.
    fn without_last_place(mut self) -> Self {
        if self.end != End::Hangs && self.places.last() == Some(&(self.at, Place::PutBack)) {
            self.places.pop();
        }
        self
    }
}

/// How a race ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum End {
    /// With a winner, with a quorum, or with the end of the stream.
    Reached,
    NoCandidates,
    OutOfReach,
    Fatal,
    Deadline,
    /// Never.
    #[default]
    Hangs,
}

proptest! {
    #![proptest_config(cases(8_000))]

    #[test]
    fn random_race_does_what_the_simulator_says(plan in plan()) {
        if let Some(expected) = model::simulate(&plan) {
            let outcome = race::run(&plan);
            prop_assert_eq!(outcome.without_last_place(), expected.without_last_place());
        }
    }
}
