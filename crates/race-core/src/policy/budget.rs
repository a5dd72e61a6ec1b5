//! # Why a budget, and not only a maximum number of attempts?
//!
//! A maximum limits one race. When a server slows down for all requests, every race hedges, and the
//! load doubles at the worst moment. A budget limits what all races start together: a percentage on
//! top of the first attempts.

mod account;
mod charge;
mod in_flight;
mod into_budget;

use core::fmt;

use super::RaceState;
use crate::observe::Cause;
use account::{ATTEMPT, Account};
use in_flight::InFlight;

pub use charge::Charge;
pub use into_budget::IntoBudget;

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
    start_reserve: u8,
    charges_failover: bool,
    account: Account,
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
            start_reserve: 0,
            charges_failover: false,
            account: Account::new(0, 0),
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
        self.account = Account::new(self.reserve, self.start_reserve);
        self
    }

    /// Sets a number of attempts that pay for hedges of at most every fourth race, for a client that
    /// starts beside a server that hangs. Default: 0, and 10 in the budget of an `Adaptive`; at most
    /// 15. Set it before the budget is used.
    ///
    /// While the balance is below one attempt, each race deposits a quarter of an attempt instead of
    /// its percentage, as often as `attempts` need. So the first race can be hedged, a small
    /// percentage does not have to be earned first, and what the races earn counts toward the
    /// quarter. It is bounded by count, whatever the time: a thousand clients that are restarted
    /// together and hedge all they can add at most a quarter to their first `4 * attempts` requests.
    /// Afterwards each adds its percentage.
    ///
    /// An unused start reserve stays for later, at the same rate. It has no effect on a budget of 25
    /// % or more after its first race, and none on a share of what is [in flight](Self::in_flight).
    ///
    /// ```
    /// use race_core::Budget;
    ///
    /// let budget = Budget::percent(5).start_reserve(10);
    /// let mut hedge = || {
    ///     budget.deposit();
    ///     budget.withdraw()
    /// };
    /// assert_eq!((0..40).filter(|_| hedge()).count(), 10);
    /// assert_eq!((0..100).filter(|_| hedge()).count(), 5);
    /// ```
    #[must_use]
    pub fn start_reserve(mut self, attempts: u8) -> Self {
        self.start_reserve = attempts;
        self.account = Account::new(self.reserve, attempts);
        self
    }

    /// Limits how many unused attempts can be saved on top of the reserve. It bounds what a quiet
    /// week allows in a bad minute. Default: 100. With 0 a budget without a reserve pays for nothing,
    /// because no deposit can be saved.
    ///
    /// With 32-bit pointers, reserve and savings together hold at most 67,108 attempts.
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
        self.account.deposit(self.deposit, self.most());
    }

    /// Withdraws one attempt; returns `false` if the balance is too low.
    #[must_use]
    pub fn withdraw(&self) -> bool {
        self.in_flight.is_none() && self.account.withdraw()
    }

    /// Returns how many charged attempts could start now.
    #[must_use]
    pub fn balance(&self) -> usize {
        match &self.in_flight {
            Some(in_flight) => in_flight.room(self.reserve / ATTEMPT),
            None => self.account.balance() / ATTEMPT,
        }
    }

    /// Gives a withdrawn attempt back.
    fn refund(&self) {
        self.account.refund(self.most());
    }

    /// The highest balance. It does not overflow: each part is below 2^16 * 1000.
    const fn most(&self) -> usize {
        self.reserve + self.savings
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
