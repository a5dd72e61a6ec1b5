//! A random race: its candidates, its options, and when it is polled.

use proptest::{collection::vec, option, prelude::*};
use race::{CatchUp, OnFailure};

/// Everything that is random. Each option is drawn on its own, and may be absent. Times are in
/// milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) set: Set,
    pub(super) candidates: Vec<Candidate>,
    pub(super) source: Kind,
    /// Beginning and length of intervals in which there is no place for a start.
    pub(super) full: Vec<(u64, u64)>,
    /// The attempts have handles. Without, their signs are void.
    pub(super) has_handles: bool,
    /// The delay before each index from 1 on; none beyond.
    pub(super) delays: Vec<Option<u64>>,
    /// The pause after each failure, which may be `NEVER`; none beyond.
    pub(super) pauses: Vec<u64>,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) catch_up: Option<CatchUp>,
    pub(super) max_attempts: Option<usize>,
    pub(super) max_in_flight: Option<usize>,
    pub(super) min_gap: Option<u64>,
    pub(super) attempt_timeout: Option<u64>,
    pub(super) deadline: Option<u64>,
    pub(super) gate: Option<Gate>,
    pub(super) budget: Option<Budget>,
    pub(super) is_observed: bool,
    pub(super) finisher: Finisher,
    /// Instants at which the race is polled without need.
    pub(super) spurious: Vec<u64>,
    /// Beginning and length of intervals in which the race is not polled.
    pub(super) pauses_in_polling: Vec<(u64, u64)>,
}

/// Where the attempts are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Set {
    Heap,
    OneWaker,
    InlineOne,
    InlineThree,
}

impl Set {
    /// How many attempts it runs, and how many failures it keeps; `None` is no limit.
    pub(super) fn room(self) -> Option<usize> {
        match self {
            Self::Heap | Self::OneWaker => None,
            Self::InlineOne => Some(1),
            Self::InlineThree => Some(3),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// When a stream yields it, after the one before.
    pub(super) arrival: u64,
    /// `None` never finishes.
    pub(super) latency: Option<u64>,
    pub(super) result: Result<(), Failing>,
    /// The source takes it back when its start is due.
    pub(super) is_taken_back: bool,
    /// What the attempt says by its handle, and how long after its start; in order of time.
    pub(super) signs: Vec<(u64, Sign)>,
}

/// What an attempt says by its handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sign {
    Progress,
    Hold,
    Release,
    Commit,
}

/// What a source tells about its length, and whether its candidates arrive over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Exact,
    /// It announces this many more than there are.
    AtMost(usize),
    Unknown,
    Stream,
}

/// How a candidate fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failing {
    Retryable,
    Fatal,
    NotBefore(u64),
    NoMoreStarts,
}

/// A gate that permits a start if the bit of its index is set, if enough attempts have failed, or
/// if it was asked often enough. Else it answers `NotNow` or `Stop`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) permits: u16,
    pub(super) defers: u16,
    pub(super) failures: usize,
    pub(super) patience: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) percent: u16,
    pub(super) reserve: u16,
    pub(super) charges_failover: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finisher {
    FirstBy,
    QuorumBy(usize),
    First,
    Stream,
}

/// A pause that never ends.
pub(super) const NEVER: u64 = u64::MAX;

/// Small numbers, so that instants coincide.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 6 => 1..8u64, 2 => 8..30u64]
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let arrival = prop_oneof![3 => Just(0), 2 => time()];
    let latency = prop_oneof![19 => time().prop_map(Some), 1 => Just(None)];
    let result = prop_oneof![
        4 => Just(Ok(())),
        8 => Just(Err(Failing::Retryable)),
        1 => Just(Err(Failing::Fatal)),
        2 => time().prop_map(|delay| Err(Failing::NotBefore(delay))),
        1 => Just(Err(Failing::NoMoreStarts)),
    ];
    let sign = prop_oneof![
        2 => Just(Sign::Progress),
        1 => Just(Sign::Hold),
        1 => Just(Sign::Release),
        3 => Just(Sign::Commit),
    ];
    let signs = prop_oneof![1 => Just(vec![]), 1 => vec((time(), sign), 1..4)];
    let is_taken_back = prop::bool::weighted(0.1);
    (arrival, latency, result, is_taken_back, signs).prop_map(
        |(arrival, latency, result, is_taken_back, mut signs)| {
            signs.sort_by_key(|(after, _)| *after);
            Candidate {
                arrival,
                latency,
                result,
                is_taken_back,
                signs,
            }
        },
    )
}

fn source() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::Exact),
        1 => (0..3usize).prop_map(Kind::AtMost),
        1 => Just(Kind::Unknown),
        2 => Just(Kind::Stream),
    ]
}

fn rules() -> impl Strategy<Value = (Option<OnFailure>, Option<CatchUp>, Vec<u64>)> {
    let on_failure = prop_oneof![
        Just(OnFailure::Wait),
        Just(OnFailure::IfLatest),
        Just(OnFailure::IfIdle),
        Just(OnFailure::Any),
    ];
    let catch_up = prop_oneof![
        Just(CatchUp::Delay),
        Just(CatchUp::Burst),
        Just(CatchUp::Skip)
    ];
    let pause = prop_oneof![9 => time(), 1 => Just(NEVER)];
    let pauses = prop_oneof![2 => Just(vec![]), 1 => vec(pause, 0..6)];
    (
        option::weighted(0.8, on_failure),
        option::weighted(0.7, catch_up),
        pauses,
    )
}

fn gate() -> impl Strategy<Value = Gate> {
    (any::<u16>(), any::<u16>(), 0..6usize, 0..12usize).prop_map(
        |(permits, defers, failures, patience)| Gate {
            permits,
            defers,
            failures,
            patience,
        },
    )
}

fn budget() -> impl Strategy<Value = Budget> {
    (0..200u16, 0..4u16, any::<bool>()).prop_map(|(percent, reserve, charges_failover)| Budget {
        percent,
        reserve,
        charges_failover,
    })
}

fn finisher() -> impl Strategy<Value = Finisher> {
    prop_oneof![
        4 => Just(Finisher::FirstBy),
        3 => (0..5usize).prop_map(Finisher::QuorumBy),
        1 => Just(Finisher::First),
        2 => Just(Finisher::Stream),
    ]
}

fn polls() -> impl Strategy<Value = (Vec<u64>, Vec<(u64, u64)>)> {
    let spurious = prop_oneof![2 => Just(vec![]), 1 => vec(0..60u64, 0..12)];
    (spurious, intervals(1))
}

/// Beginning and length of each.
fn intervals(first: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop_oneof![2 => Just(vec![]), 1 => vec((first..60u64, 1..25u64), 0..4)]
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let set = prop_oneof![
        4 => Just(Set::Heap),
        2 => Just(Set::OneWaker),
        1 => Just(Set::InlineOne),
        2 => Just(Set::InlineThree),
    ];
    let delays = vec(option::weighted(0.9, time()), 10);
    let candidates = vec(candidate(), 0..10);
    let candidates = (candidates, source(), intervals(0));
    let what = (set, candidates, any::<bool>(), delays);
    let how_many = (
        option::weighted(0.25, 0..6usize),
        option::weighted(0.35, 0..5usize),
        finisher(),
    );
    let how_long = (
        option::weighted(0.35, time()),
        option::weighted(0.35, time()),
        option::weighted(0.25, time()),
    );
    let permits = (
        option::weighted(0.3, gate()),
        option::weighted(0.3, budget()),
        any::<bool>(),
    );
    (what, rules(), how_many, how_long, permits, polls()).prop_map(
        |(
            (set, (candidates, source, full), has_handles, delays),
            (on_failure, catch_up, pauses),
            (max_attempts, max_in_flight, finisher),
            (min_gap, attempt_timeout, deadline),
            (gate, budget, is_observed),
            (spurious, pauses_in_polling),
        )| Plan {
            set,
            candidates,
            source,
            full,
            has_handles,
            delays,
            pauses,
            on_failure,
            catch_up,
            max_attempts,
            max_in_flight,
            min_gap,
            attempt_timeout,
            deadline,
            gate,
            budget,
            is_observed,
            finisher,
            spurious,
            pauses_in_polling,
        },
    )
}

impl Plan {
    /// The first instant from `at` on at which the race is polled if something wakes it.
    pub(super) fn polled_from(&self, at: u64) -> u64 {
        outside(&self.pauses_in_polling, at)
    }

    /// The first instant from `at` on at which there is a place for a start.
    pub(super) fn place_from(&self, at: u64) -> u64 {
        outside(&self.full, at)
    }

    /// When a stream yields each candidate, and its end.
    pub(super) fn arrivals(&self) -> Vec<u64> {
        let mut at = 0;
        let mut arrivals: Vec<u64> = self
            .candidates
            .iter()
            .map(|candidate| {
                at += candidate.arrival;
                at
            })
            .collect();
        arrivals.push(at);
        if self.source != Kind::Stream {
            arrivals.fill(0);
        }
        arrivals
    }
}

/// The first instant from `at` on that is in none of the intervals.
fn outside(intervals: &[(u64, u64)], at: u64) -> u64 {
    let mut at = at;
    // An interval may end inside another one.
    while let Some((begin, length)) = intervals
        .iter()
        .find(|(begin, length)| (*begin..begin + length).contains(&at))
    {
        at = begin + length;
    }
    at
}
