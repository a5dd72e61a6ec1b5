use std::vec::Vec;

use fastrand::Rng;

use super::*;

const UNLIMITED: usize = usize::MAX;

/// Returns which of some races can pay for a hedge, if all want one.
fn paid(account: &Account, races: usize, deposit: usize) -> Vec<usize> {
    let pays = |_: &usize| {
        account.deposit(deposit, UNLIMITED);
        account.withdraw()
    };
    (0..races).filter(pays).collect()
}

#[test]
fn start_reserve_pays_for_every_fourth_race_and_ends() {
    let account = Account::new(0, 10);
    assert!(!account.withdraw(), "no race has begun");
    let every_fourth: Vec<_> = (0..40).step_by(4).collect();
    assert_eq!(paid(&account, 40, 50), every_fourth);
    // From then on it is 5 %: three top-ups are left, and five deposits complete the attempt.
    assert_eq!(paid(&account, 60, 50), [4, 24, 44]);
}

#[test]
fn unused_start_reserve_is_kept_and_does_not_accumulate() {
    let account = Account::new(0, 10);
    for _ in 0..1_000 {
        account.deposit(10, UNLIMITED);
    }
    assert_eq!(account.balance(), ATTEMPT + 999 * 10);
    // Ten attempts were saved. Then the reserve pays as at the start.
    let paid = paid(&account, 60, 10);
    assert_eq!(paid[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(paid[10..].windows(2).all(|two| two[1] - two[0] >= 4));
    assert_eq!(paid.len(), 20, "{paid:?}");
}

#[test]
fn start_reserve_has_at_most_15_attempts() {
    for (start, attempts) in [(1, 1), (2, 2), (15, 15), (16, 15), (u8::MAX, 15)] {
        assert_eq!(paid(&Account::new(0, start), 200, 0).len(), attempts);
    }
}

#[test]
fn a_share_of_a_quarter_needs_no_start_reserve() {
    let every_second = (0..40).step_by(2).collect::<Vec<_>>();
    assert_eq!(paid(&Account::new(0, 10), 40, 500), every_second);
}

/// Hedges that are wanted, refunded and refused in any order.
#[test]
fn hedges_of_the_first_races_are_at_most_a_quarter_whatever_happens() {
    let mut random = Rng::with_seed(4);
    for _ in 0..500 {
        let (deposit, start) = (random.usize(0..TOP_UP), random.u8(0..12));
        let account = Account::new(0, start);
        let mut hedges = 0;
        for races in 1..200_usize {
            account.deposit(deposit, UNLIMITED);
            for _ in 0..random.u8(0..3) {
                if account.withdraw() {
                    match random.u8(0..4) {
                        0 => account.refund(UNLIMITED),
                        _ => hedges += 1,
                    }
                }
            }
            assert!(hedges <= races.div_ceil(4), "{hedges} of {races}");
            let earned = races * deposit / ATTEMPT + usize::from(start) + 1;
            assert!(hedges <= earned, "{hedges} of {races}");
        }
    }
}
