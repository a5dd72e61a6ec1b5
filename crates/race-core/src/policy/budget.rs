//! # Why a budget, and not only a maximum number of attempts?
//!
//! A maximum limits one race. When a server slows down for all requests, every race hedges, and the
//! load doubles at the worst moment. A budget limits what all races start together: a percentage on
//! top of the first attempts.

use core::{fmt, ops::Deref};

use super::{Hook, RaceState};
use crate::{
    Cause,
    sync::{AtomicUsize, Ordering},
};

/// One attempt, in the unit of the balance.
const ATTEMPT: usize = 1_000;

/// Default of [`Budget::savings`].
const SAVINGS: usize = 100;

/// Limits how many hedges all races together may start.
///
/// Each first attempt deposits a fraction of an attempt; each charged attempt withdraws one. So the
/// charged attempts stay below a percentage of the races, plus a reserve that is available from the
/// start, plus what quiet times saved.
///
/// The budget charges hedges: attempts that start because their delay passed while another attempt
/// was running. It also does so with `Adaptive` and [`OnFailure::Wait`](crate::OnFailure::Wait). It
/// does not charge the first attempt, attempts that a failure causes, attempts that start while
/// none is running, and the first `k` attempts of a quorum of `k`.
///
/// **Free fail-over multiplies the load in an outage**: if all replicas fail, each race asks each
/// replica once. If that is too much, use [`charge_failover`](Self::charge_failover),
/// `max_attempts` or a [`Backoff`](crate::Backoff).
///
/// Races share a budget by reference or in an `Arc`. It takes no lock, allocates nothing, and
/// counts in thousandths of an attempt, in integers. The idea is that of Finagle's `RetryBudget`.
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
    charges_failover: bool,
    balance: AtomicUsize,
}

impl Budget {
    /// Allows `percent` charged attempts for every hundred races. May exceed 100.
    #[must_use]
    pub fn percent(percent: u16) -> Self {
        Self::new(usize::from(percent) * 10)
    }

    /// Allows `per_mille` charged attempts for every thousand races.
    #[must_use]
    pub fn per_mille(per_mille: u16) -> Self {
        Self::new(per_mille.into())
    }

    fn new(deposit: usize) -> Self {
        Self {
            deposit,
            reserve: 0,
            savings: SAVINGS * ATTEMPT,
            charges_failover: false,
            balance: AtomicUsize::new(0),
        }
    }

    /// Makes `attempts` charged attempts available before any race. Deposits refill the reserve.
    /// Default: 0. Set it before the budget is used.
    #[must_use]
    pub fn reserve(mut self, attempts: u16) -> Self {
        self.reserve = usize::from(attempts) * ATTEMPT;
        self.balance = AtomicUsize::new(self.reserve);
        self
    }

    /// Limits how many unused attempts can be saved on top of the reserve. It bounds what a quiet
    /// week allows in a bad minute. Default: 100.
    #[must_use]
    pub fn savings(mut self, attempts: u16) -> Self {
        self.savings = usize::from(attempts) * ATTEMPT;
        self
    }

    /// Charges every attempt but the first of a race and the first `k` of a quorum of `k`: also
    /// those that a failure causes, and those that start while none is running.
    ///
    /// A used-up budget then ends a race whose attempts have all failed.
    #[must_use]
    pub fn charge_failover(mut self) -> Self {
        self.charges_failover = true;
        self
    }

    /// Deposits for the first attempt of a race. Races with this budget do so themselves.
    pub fn deposit(&self) {
        self.add(self.deposit);
    }

    /// Withdraws one attempt; returns `false` if the balance is too low.
    #[must_use]
    pub fn withdraw(&self) -> bool {
        let withdrawn = self.update(|balance| balance.checked_sub(ATTEMPT));
        withdrawn.is_ok()
    }

    /// Returns how many charged attempts could start now.
    #[must_use]
    pub fn balance(&self) -> usize {
        self.balance.load(Ordering::Relaxed) / ATTEMPT
    }

    fn add(&self, amount: usize) {
        // The maximum does not overflow: each part is below 2^16 * 1000.
        let max = self.reserve + self.savings;
        let _full = self.update(|balance| (balance < max).then(|| max.min(balance + amount)));
    }

    // The balance guards no other memory, so no ordering is needed.
    fn update(&self, change: impl FnMut(usize) -> Option<usize>) -> Result<usize, usize> {
        self.balance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change)
    }

    fn charges(&self, state: &RaceState<'_>) -> bool {
        let is_hedge = state.cause == Cause::Delay;
        (is_hedge || self.charges_failover) && state.index >= state.needed
    }

    pub(super) fn charge(&self, state: &RaceState<'_>) -> bool {
        !self.charges(state) || self.withdraw()
    }

    pub(super) fn refund(&self, state: &RaceState<'_>) {
        if self.charges(state) {
            self.add(ATTEMPT);
        }
    }

    pub(super) fn started(&self, index: usize) {
        if index == 0 {
            self.deposit();
        }
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

/// A budget attached to a race, as `Race::budget` makes it.
#[derive(Clone, Debug)]
pub struct Charge<B> {
    budget: B,
}

impl<B: Deref<Target = Budget>> Charge<B> {
    pub(crate) fn new(budget: B) -> Self {
        Self { budget }
    }
}

impl<B: Deref<Target = Budget>> Hook for Charge<B> {
    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        self.budget.charge(state)
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        self.budget.refund(state);
    }

    fn started(&mut self, index: usize, _: Cause) {
        self.budget.started(index);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
