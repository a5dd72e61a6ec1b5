//! Credit, which is lent to connections, and the inputs that only a cluster has.

use std::sync::Arc;

use super::{ConsumerId, CreditChange, Scheduler, SchedulerMessage, lent_credit::LentCredit};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// A connection is lent credit.
    pub(crate) fn lend(&mut self, consumer: ConsumerId, credit: u16) {
        self.change_loan(consumer, |loan| loan.lend(credit));
        self.dispatch_for(consumer);
    }

    /// Recalls credit that a connection was lent.
    pub(crate) fn recall(&mut self, consumer: ConsumerId, credit: u16) {
        self.change_loan(consumer, |loan| loan.recall(credit));
    }

    /// Returns the recalled credit of a connection that no copy uses any more.
    pub(super) fn return_unused_credit(&mut self, consumer: ConsumerId) {
        self.change_loan(consumer, |_| ());
    }

    /// Changes the loan of a connection, and returns what of it is recalled and unused.
    fn change_loan(&mut self, consumer: ConsumerId, change: impl FnOnce(&mut LentCredit)) {
        let state = self.consumers.get_mut(consumer);
        let credit = state.map_or(0, |state| state.change_loan(change));
        if credit > 0 {
            let message = SchedulerMessage::Credit(CreditChange::Returned(credit));
            self.messages.push((consumer, message));
        }
    }

    /// Asks for more credit if a connection has no room and a route has a task for it. A route that
    /// has none waits no longer for the connection: it will again when one is queued.
    pub(super) fn request_credit(&mut self, consumer: ConsumerId) {
        if self.takeover.holds_deliveries() || self.is_shutting_down {
            return;
        }
        while let Some(state) = self.consumers.get(consumer)
            && state.may_request_credit()
            && let Some(name) = state.first_waiting().cloned()
        {
            let is_wanted = state.has_route(&name) && self.has_deliverable_task(&name);
            let Some(state) = self.consumers.get_mut(consumer) else {
                return;
            };
            if !is_wanted {
                state.drop_first_waiting();
            } else if state.request_credit() {
                let message = SchedulerMessage::Credit(CreditChange::Wanted);
                self.messages.push((consumer, message));
            }
        }
    }

    /// Returns whether a queued task of a route lacks only a consumer. Parked tasks are read soon.
    fn has_deliverable_task(&mut self, name: &Arc<str>) -> bool {
        let Some(route) = self.routes.get(name) else {
            return false;
        };
        let (is_queued, settings) = (route.queued() > 0, route.settings());
        if !is_queued && route.backlog().is_some() {
            self.routes.request_refill(name.clone());
        }
        let (now, timers) = (self.now, &mut self.timers);
        is_queued && !self.rate_limits.holds_back(name, settings, now, timers)
    }

    /// Stops deliveries, or resumes them and delivers everything that can be.
    pub(super) fn hold_deliveries(&mut self, holds_deliveries: bool) {
        self.takeover.hold_deliveries(holds_deliveries);
        if holds_deliveries {
            return;
        }
        let mut names: Vec<Arc<str>> = self.routes.iter().map(|(name, _)| name.clone()).collect();
        // So that the same inputs have the same effects.
        names.sort_unstable();
        for name in names {
            self.dispatch(&name);
            self.refill(&name);
        }
    }

    /// Whether tasks may be removed that no request names: it is known which are in flight.
    pub(super) const fn may_remove(&self) -> bool {
        !self.is_shutting_down && !self.takeover.holds_deliveries()
    }
}
