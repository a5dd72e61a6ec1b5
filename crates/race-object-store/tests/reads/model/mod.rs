//! Random reads, held against a model that looks at each millisecond.

mod case;
mod expected;
mod purse;
mod run;

use std::{collections::BTreeMap, env};

use fastrand::Rng;
use race_core::CatchUp;

use self::case::{Case, Options};

/// What a read ends with.
#[derive(Debug, PartialEq)]
enum End {
    Read,
    /// The error of the attempt with this number.
    Failed(usize),
    TimedOut,
    Deadline,
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Failed(_) => "failed",
            Self::TimedOut => "timed out",
            Self::Deadline => "deadline",
        }
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    end: End,
    at: u64,
    /// When each attempt started.
    starts: Vec<u64>,
    /// When attempts were cancelled, by number.
    cancelled: BTreeMap<usize, u64>,
}

/// Returns how many cases are drawn.
fn cases() -> u32 {
    let cases = env::var("RACE_OBJECT_STORE_CASES");
    cases.map_or(20_000, |it| it.parse().unwrap())
}

#[test]
fn random_reads_end_as_the_model_says() {
    let (cases, mut rng) = (cases(), Rng::with_seed(14));
    let mut ends = BTreeMap::<_, u32>::new();
    let (mut by_budget, mut by_catch_up) = (0, 0);
    for _ in 0..cases {
        let case = Case::draw(&mut rng);
        let expected = case.expected();
        assert_eq!(case.run(), expected, "{case:#?}");
        for Outcome { end, .. } in &expected {
            *ends.entry(end.name()).or_default() += 1;
        }
        let changes = |change: fn(&mut Options)| case.with(change).expected() != expected;
        let options = &case.options;
        let (is_limited, catches_up) = (options.budget.is_some(), options.catches_up());
        by_budget += u32::from(is_limited && changes(|it| it.budget = None));
        by_catch_up += u32::from(catches_up && changes(|it| it.catch_up = CatchUp::Delay));
    }
    println!("{ends:?}; {by_budget} cases by budget, {by_catch_up} by catch-up");
    let is_frequent = |&count: &u32| count > cases / 200;
    assert!(ends.len() == 4 && ends.values().all(is_frequent));
    assert!(is_frequent(&by_budget) && is_frequent(&by_catch_up));
}
