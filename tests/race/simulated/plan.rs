//! A race to be run: its candidates and its rules.

use proptest::{collection::vec, option, prelude::*};
use race::{CatchUp, OnFailure};

/// Everything that is random. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) candidates: Vec<Candidate>,
    /// The step before each place from 1 on; no step beyond.
    pub(super) steps: Vec<Option<u64>>,
    pub(super) on_failure: OnFailure,
    pub(super) catch_up: CatchUp,
    pub(super) max_attempts: Option<usize>,
    pub(super) max_in_flight: Option<usize>,
    pub(super) min_gap: u64,
    pub(super) attempt_timeout: Option<u64>,
    pub(super) deadline: Option<u64>,
    /// The gate says go if the place's bit is set, or so many have failed.
    pub(super) gate: Option<(u16, usize)>,
    /// Percent, and the reserve.
    pub(super) budget: Option<(u16, u16)>,
    /// Of a quorum; without it, the first wins.
    pub(super) needed: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// `None` never finishes.
    pub(super) latency: Option<u64>,
    pub(super) result: Result<(), Failing>,
}

/// How a candidate fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failing {
    Retryable,
    Fatal,
    NotBefore(u64),
    NoMoreStarts,
}

/// Small numbers, so that instants coincide.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 6 => 1..8u64, 2 => 8..30u64]
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let latency = prop_oneof![19 => time().prop_map(Some), 1 => Just(None)];
    let result = prop_oneof![
        4 => Just(Ok(())),
        8 => Just(Err(Failing::Retryable)),
        1 => Just(Err(Failing::Fatal)),
        2 => time().prop_map(|delay| Err(Failing::NotBefore(delay))),
        1 => Just(Err(Failing::NoMoreStarts)),
    ];
    (latency, result).prop_map(|(latency, result)| Candidate { latency, result })
}

fn rules() -> impl Strategy<Value = (OnFailure, CatchUp)> {
    let on_failure = prop_oneof![
        Just(OnFailure::Wait),
        Just(OnFailure::IfLatest),
        Just(OnFailure::IfIdle),
        Just(OnFailure::Any),
    ];
    // Somebody who is always in time makes no difference between these.
    let catch_up = prop_oneof![
        Just(CatchUp::Delay),
        Just(CatchUp::Burst),
        Just(CatchUp::Skip)
    ];
    (on_failure, catch_up)
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let what = (
        vec(candidate(), 0..10),
        vec(option::weighted(0.9, time()), 10),
    );
    let how_many = (
        option::weighted(0.3, 0..6usize),
        option::weighted(0.4, 0..5usize),
        option::weighted(0.4, 0..4usize),
    );
    let how_long = (
        prop_oneof![2 => Just(0), 1 => time()],
        option::weighted(0.4, time()),
        option::weighted(0.3, time()),
    );
    let permits = (
        option::weighted(0.3, (any::<u16>(), 0..6usize)),
        option::weighted(0.3, (0..200u16, 0..4u16)),
    );
    (what, rules(), how_many, how_long, permits).prop_map(
        |(
            (candidates, steps),
            (on_failure, catch_up),
            (max_attempts, max_in_flight, needed),
            (min_gap, attempt_timeout, deadline),
            (gate, budget),
        )| Plan {
            candidates,
            steps,
            on_failure,
            catch_up,
            max_attempts,
            max_in_flight,
            min_gap,
            attempt_timeout,
            deadline,
            gate,
            budget,
            needed,
        },
    )
}
