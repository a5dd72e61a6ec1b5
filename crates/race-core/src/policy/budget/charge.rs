use alloc::vec::Vec;
use core::{fmt, ops::Deref};

use super::{ATTEMPT, Budget, in_flight::InFlight};
use crate::{
    Hook,
    observe::{Cause, EventKind},
    policy::RaceState,
};

/// A budget attached to a race, as `Race::budget` makes it.
pub struct Charge<B: Deref<Target = Budget>> {
    budget: B,
    charged: Charged,
}

impl<B: Deref<Target = Budget>> Charge<B> {
    pub(crate) fn new(budget: B) -> Self {
        let charged = Charged::default();
        Self { budget, charged }
    }
}

/// For another race: nothing of it is running.
impl<B: Deref<Target = Budget> + Clone> Clone for Charge<B> {
    fn clone(&self) -> Self {
        Self::new(self.budget.clone())
    }
}

impl<B: Deref<Target = Budget>> Hook for Charge<B> {
    const LISTS_RUNNING: bool = true;

    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        self.charged.charge(&self.budget, state)
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        self.charged.refund(&self.budget, state);
    }

    fn started(&mut self, index: usize, _: Cause) {
        self.charged.started(&self.budget, index);
    }

    fn ended(&mut self, index: usize, _: EventKind) {
        self.charged.ended(&self.budget, index);
    }

    fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        self.charged.retain(&self.budget, is_running);
    }
}

/// The attempts that still run end with their race.
impl<B: Deref<Target = Budget>> Drop for Charge<B> {
    fn drop(&mut self) {
        self.charged.retain(&self.budget, &mut |_| false);
    }
}

impl<B: Deref<Target = Budget>> fmt::Debug for Charge<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge")
            .field("budget", &*self.budget)
            .finish_non_exhaustive()
    }
}

/// What a race has running, if its budget is a share of that.
#[derive(Debug, Default)]
struct Charged {
    /// The indices of the running attempts, and whether they were charged.
    running: Vec<(usize, bool)>,
    /// The next attempt to start is charged.
    next: bool,
}

impl Charged {
    fn charge(&mut self, budget: &Budget, state: &RaceState<'_>) -> bool {
        if !budget.charges(state) {
            return true;
        }
        let Some(in_flight) = &budget.in_flight else {
            return budget.withdraw();
        };
        // The last one that was charged could not be made.
        self.drop_next(in_flight);
        self.next = in_flight.charge(budget.reserve / ATTEMPT);
        self.next
    }

    fn refund(&mut self, budget: &Budget, state: &RaceState<'_>) {
        match &budget.in_flight {
            Some(in_flight) => self.drop_next(in_flight),
            None if budget.charges(state) => budget.refund(),
            None => {}
        }
    }

    fn started(&mut self, budget: &Budget, index: usize) {
        match &budget.in_flight {
            Some(in_flight) => {
                in_flight.started();
                let is_charged = core::mem::take(&mut self.next);
                self.running.push((index, is_charged));
            }
            None if index == 0 => budget.deposit(),
            None => {}
        }
    }

    fn ended(&mut self, budget: &Budget, index: usize) {
        if let Some(in_flight) = &budget.in_flight {
            let position = self.running.iter().position(|(it, _)| *it == index);
            if let Some(position) = position {
                let (_, is_charged) = self.running.swap_remove(position);
                release(in_flight, is_charged);
            }
        }
    }

    fn retain(&mut self, budget: &Budget, is_running: &mut dyn FnMut(usize) -> bool) {
        if let Some(in_flight) = &budget.in_flight {
            self.drop_next(in_flight);
            self.running.retain(|(index, is_charged)| {
                let is_kept = is_running(*index);
                if !is_kept {
                    release(in_flight, *is_charged);
                }
                is_kept
            });
        }
    }

    fn drop_next(&mut self, in_flight: &InFlight) {
        if core::mem::take(&mut self.next) {
            in_flight.release();
        }
    }
}

fn release(in_flight: &InFlight, is_charged: bool) {
    in_flight.ended();
    if is_charged {
        in_flight.release();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
