use alloc::string::ToString as _;

use super::*;

#[test]
fn shares_of_empty_counts_are_zero() {
    let counts = Counts::default();
    assert_eq!((counts.extra_load(), counts.helped_share()), (0.0, 0.0));
    let line = "0 races, 0 attempts (0 extra, 0.0 %), 0 won (0 by an extra attempt)";
    assert_eq!(counts.to_string(), line);
}

#[test]
fn display_is_one_line() {
    let counts = Counts {
        races: 1_000,
        attempts: 1_020,
        extra: 20,
        wins: 990,
        helped: 15,
        failed: 13,
        cancelled: 17,
        wasted: Duration::from_millis(1_250),
        refused_by_budget: 4,
        ..Counts::default()
    };
    assert_eq!(
        counts.to_string(),
        "1000 races, 1020 attempts (20 extra, 2.0 %), 990 won (15 by an extra attempt), 13 failed, \
         4 refused by the budget, 17 cancelled (1.25s wasted)"
    );
    assert_eq!(counts.extra_load(), 0.02);
}
