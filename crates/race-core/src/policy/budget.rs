//! # Why a budget, and not only a maximum of attempts?
//!
//! A maximum bounds what one race may do. When a server slows down for everybody, every race hedges, and
//! the load doubles at the moment in which it can least be borne. A budget bounds what all races may do
//! together: so and so much more than the attempts that had to be made.

use core::{fmt, ops::Deref, time::Duration};

use super::{Policy, Standing, Suppressed};
use crate::{
    What,
    sync::{AtomicUsize, Ordering},
};

/// An attempt, in the unit in which a budget counts.
const ATTEMPT: usize = 1_000;

/// How many attempts can be saved up beyond the reserve, unless it is said.
const SAVINGS: usize = 100;

/// Bounds how many attempts beyond their first all races together may start.
///
/// The first attempt of each race deposits a part of an attempt, each further one withdraws a whole; but
/// the first so many of a quorum are free. It pays for what is started after a failure, too. So
/// of what starts, only so and so many percent come on top, beside a reserve, which a budget is full of
/// when it is made, and what was saved up. It counts in thousandths, in integers: nothing is lost to
/// rounding.
///
/// Races share it by reference, or in an `Arc`. It takes no lock and allocates nothing. The idea is that of
/// Finagle's `RetryBudget`.
///
/// ```
/// use race_core::Budget;
///
/// let budget = Budget::percent(50).reserve(1);
/// assert!(budget.withdraw()); // the reserve
/// assert!(!budget.withdraw());
/// budget.deposit();
/// budget.deposit();
/// assert!(budget.withdraw());
/// assert!(!budget.withdraw());
/// ```
pub struct Budget {
    deposit: usize,
    reserve: usize,
    savings: usize,
    balance: AtomicUsize,
}

impl Budget {
    /// For every hundred first attempts, at most `percent` further ones. It may be more than 100.
    #[must_use]
    pub fn percent(percent: u16) -> Self {
        Self::new(usize::from(percent) * 10)
    }

    /// For every thousand first attempts, at most `per_mille` further ones.
    #[must_use]
    pub fn per_mille(per_mille: u16) -> Self {
        Self::new(per_mille.into())
    }

    fn new(deposit: usize) -> Self {
        Self {
            deposit,
            reserve: 0,
            savings: SAVINGS * ATTEMPT,
            balance: AtomicUsize::new(0),
        }
    }

    /// Further attempts that may be made before any first one; 0 unless it is said. They are there once, and
    /// filled up again by deposits. Set it before the budget is used.
    #[must_use]
    pub fn reserve(mut self, attempts: u16) -> Self {
        self.reserve = usize::from(attempts) * ATTEMPT;
        self.balance = AtomicUsize::new(self.reserve);
        self
    }

    /// How many attempts can be saved up beyond the reserve by races that needed none; 100 unless it is said.
    /// It bounds what a quiet week allows a bad minute.
    #[must_use]
    pub fn savings(mut self, attempts: u16) -> Self {
        self.savings = usize::from(attempts) * ATTEMPT;
        self
    }

    /// A first attempt was started.
    pub fn deposit(&self) {
        self.add(self.deposit);
    }

    /// Takes out one further attempt; false if there is none left.
    #[must_use]
    pub fn withdraw(&self) -> bool {
        let taken = self.update(|balance| balance.checked_sub(ATTEMPT));
        taken.is_ok()
    }

    /// How many further attempts could be started now.
    #[must_use]
    pub fn balance(&self) -> usize {
        self.balance.load(Ordering::Relaxed) / ATTEMPT
    }

    fn add(&self, amount: usize) {
        // The most it can be does not overflow: each part is below 2^16 * 1000.
        let most = self.reserve + self.savings;
        let _full = self.update(|balance| (balance < most).then(|| most.min(balance + amount)));
    }

    // The balance guards no other memory, so no order is needed.
    fn update(&self, change: impl FnMut(usize) -> Option<usize>) -> Result<usize, usize> {
        self.balance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("per_mille", &self.deposit)
            .field("reserve", &(self.reserve / ATTEMPT))
            .field("balance", &self.balance())
            .finish()
    }
}

/// A policy within a budget, as `Race::budget` makes it.
#[derive(Clone, Debug)]
pub struct Budgeted<P, B> {
    policy: P,
    budget: B,
}

impl<P, B: Deref<Target = Budget>> Budgeted<P, B> {
    /// `budget` is a `&Budget`, or an `Arc<Budget>`.
    pub fn new(policy: P, budget: B) -> Self {
        Self { policy, budget }
    }
}

impl<P: Policy, B: Deref<Target = Budget>> Policy for Budgeted<P, B> {
    fn step(&mut self, place: usize) -> Option<Duration> {
        self.policy.step(place)
    }

    fn admit(&mut self, standing: &Standing<'_>) -> Result<(), Suppressed> {
        if standing.place < standing.needed {
            return self.policy.admit(standing);
        }
        if !self.budget.withdraw() {
            return Err(Suppressed::Budget);
        }
        let admitted = self.policy.admit(standing);
        if admitted.is_err() {
            self.budget.add(ATTEMPT);
        }
        admitted
    }

    fn note(&mut self, place: usize, what: What) {
        if (place, what) == (0, What::Started) {
            self.budget.deposit();
        }
        self.policy.note(place, what);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tower_857_ten_deposits_of_six_tenths_are_six_and_not_a_hair_more() {
        let budget = Budget::percent(60);
        (0..10).for_each(|_| budget.deposit());
        assert_eq!((0..10).filter(|_| budget.withdraw()).count(), 6);
    }

    #[test]
    fn finagle_n8_a_hundred_deposits_of_one_percent_are_one() {
        let budget = Budget::percent(1).reserve(300);
        assert_eq!(budget.balance(), 300);
        (0..99).for_each(|_| budget.deposit());
        assert_eq!(budget.balance(), 300);
        budget.deposit();
        assert_eq!(budget.balance(), 301);
    }

    #[test]
    fn what_can_be_saved_is_bounded_and_the_largest_budget_does_not_overflow() {
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
    fn a_budget_of_nothing_allows_nothing() {
        let budget = Budget::percent(0);
        (0..100).for_each(|_| budget.deposit());
        assert!(!budget.withdraw());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{model, sync::Arc, thread};

    use super::*;

    #[test]
    fn no_attempt_is_paid_for_twice() {
        model(|| {
            let budget = Arc::new(Budget::percent(50).reserve(1).savings(1));
            let threads = [(); 2].map(|()| {
                let budget = budget.clone();
                thread::spawn(move || {
                    budget.deposit();
                    budget.withdraw()
                })
            });
            let paid = threads.map(|thread| usize::from(thread.join().expect("no panic")));
            assert_eq!(paid.iter().sum::<usize>() + budget.balance(), 2);
        });
    }
}
