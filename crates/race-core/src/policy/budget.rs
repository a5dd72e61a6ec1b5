//! # Why a budget, and not only a maximum number of attempts?
//!
//! A maximum limits one race. When a server slows down for all requests, every race hedges, and the
//! load doubles at the worst moment. A budget limits what all races start together: a percentage on
//! top of the first attempts.

mod charge;
mod in_flight;
mod into_budget;

use core::fmt;

use super::RaceState;
use crate::{
    Cause,
    sync::{AtomicUsize, Ordering},
};
use in_flight::InFlight;

pub use charge::Charge;
pub use into_budget::IntoBudget;

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
/// That is a share of what is *started*. [`in_flight`](Self::in_flight) makes the other kind, a share
/// of what is *running*.
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
    /// Present if it is a share of what is running.
    in_flight: Option<InFlight>,
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
            in_flight: None,
        }
    }

    /// Allows charged attempts as long as they are at most `percent` of all attempts that are
    /// running, or at most [`reserve`](Self::reserve) if that is more. At most 100.
    ///
    /// It counts the attempts of the races that share it. An attempt counts until it ends or its race
    /// is dropped, even if the race is no longer polled. The budget never stops an attempt that runs.
    /// With fewer than `100 / percent` running attempts, only the reserve allows a hedge.
    ///
    /// Slow attempts are in flight for longer. So while servers are slow it allows more hedges for
    /// each race than a share of what is started does, and it needs no quiet time to save from.
    ///
    /// It cannot be used by hand: [`withdraw`](Self::withdraw) returns `false`, and
    /// [`deposit`](Self::deposit) and [`savings`](Self::savings) have no effect. Each race that it is
    /// attached to keeps a list of its running attempts, which it allocates.
    ///
    /// ```
    /// use race_core::Budget;
    ///
    /// // At most a fifth of what is running, and always three.
    /// let budget = Budget::in_flight(20).reserve(3);
    /// assert_eq!(budget.balance(), 3);
    /// ```
    #[must_use]
    pub fn in_flight(percent: u8) -> Self {
        Self {
            in_flight: Some(InFlight::new(percent)),
            ..Self::percent(0)
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
        if self.in_flight.is_some() {
            return false;
        }
        let withdrawn = self.update(|balance| balance.checked_sub(ATTEMPT));
        withdrawn.is_ok()
    }

    /// Returns how many charged attempts could start now.
    #[must_use]
    pub fn balance(&self) -> usize {
        match &self.in_flight {
            Some(in_flight) => in_flight.room(self.reserve / ATTEMPT),
            None => self.balance.load(Ordering::Relaxed) / ATTEMPT,
        }
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
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("per_mille", &self.deposit)
            .field("in_flight", &self.in_flight)
            .field("reserve", &(self.reserve / ATTEMPT))
            .field("balance", &self.balance())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
