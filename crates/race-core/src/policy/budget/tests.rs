use super::*;

#[test]
fn tower_857_ten_deposits_of_six_tenths_allow_exactly_six() {
    let budget = Budget::percent(60);
    (0..10).for_each(|_| budget.deposit());
    assert_eq!((0..10).filter(|_| budget.withdraw()).count(), 6);
}

#[test]
fn finagle_n8_hundred_deposits_of_one_percent_allow_one() {
    let budget = Budget::percent(1).reserve(300);
    assert_eq!(budget.balance(), 300);
    (0..99).for_each(|_| budget.deposit());
    assert_eq!(budget.balance(), 300);
    budget.deposit();
    assert_eq!(budget.balance(), 301);
}

#[test]
fn savings_are_limited_and_the_largest_budget_does_not_overflow() {
    let budget = Budget::per_mille(u16::MAX)
        .reserve(u16::MAX)
        .savings(u16::MAX);
    (0..2_000).for_each(|_| budget.deposit());
    assert_eq!(budget.balance(), 2 * usize::from(u16::MAX));
    let budget = Budget::percent(200).savings(3);
    (0..100).for_each(|_| budget.deposit());
    assert_eq!(budget.balance(), 3);
}

#[test]
fn budget_of_zero_allows_nothing() {
    let budget = Budget::percent(0);
    (0..100).for_each(|_| budget.deposit());
    assert!(!budget.withdraw());
}
