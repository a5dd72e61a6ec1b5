//! Credit, which is lent to connections, and the inputs that only a cluster has.

use std::{sync::Arc, time::Duration};

use rustc_hash::FxHashSet;

use super::{
    ConsumerId, CreditChange, Scheduler, SchedulerMessage,
    inherited_deliveries::InheritedDeliveries,
};
use crate::clock::{Now, nanos};
use hyper_delay_store::{Store, record::Place};

/// The longest ack timeout that a task, a route or the configuration can have.
const LONGEST_ACK_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The state after a change of the leader. Empty on a single node.
#[derive(Debug, Default)]
pub(super) struct TakeoverState {
    /// Deliveries are stopped.
    pub(super) holds_deliveries: bool,
    /// When this leader began, until the longest ack timeout has passed since.
    began: Option<Now>,
    pub(super) inherited: InheritedDeliveries,
    /// Revisions whose ack is on its way to the disk, and that are not in memory: they can be read
    /// before.
    finishing: FxHashSet<u64>,
}

impl TakeoverState {
    /// Whether no task is known that an earlier leader has delivered.
    pub(super) fn has_no_inherited(&self) -> bool {
        self.inherited.is_empty() && self.finishing.is_empty()
    }

    /// An ack is on its way to the disk, of a task that is not in memory.
    pub(super) fn begin_finish(&mut self, seq: u64) {
        self.finishing.insert(seq);
    }

    pub(super) fn is_finishing(&self, seq: u64) -> bool {
        self.finishing.contains(&seq)
    }

    /// An ack is on disk.
    pub(super) fn end_finish(&mut self, seq: u64) {
        if !self.finishing.is_empty() {
            self.finishing.remove(&seq);
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// A connection is lent credit.
    pub(crate) fn lend(&mut self, consumer: ConsumerId, credit: u16) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_loan(|lending| lending.lend(credit)));
        self.send_returned_credit(consumer, returned);
        self.dispatch_for(consumer);
    }

    /// Recalls credit that a connection was lent.
    pub(crate) fn recall(&mut self, consumer: ConsumerId, credit: u16) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_loan(|lending| lending.recall(credit)));
        self.send_returned_credit(consumer, returned);
    }

    /// Returns the recalled credit of a connection that no copy uses any more.
    pub(super) fn return_unused_credit(&mut self, consumer: ConsumerId) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_loan(|_| ()));
        self.send_returned_credit(consumer, returned);
    }

    fn send_returned_credit(&mut self, consumer: ConsumerId, credit: Option<u16>) {
        if let Some(credit) = credit.filter(|credit| *credit > 0) {
            let message = SchedulerMessage::Credit(CreditChange::Returned(credit));
            self.messages.push((consumer, message));
        }
    }

    /// Asks for more credit if a connection has no room and a route has a task for it. A route that
    /// has none waits no longer for the connection: it will again when one is queued.
    pub(super) fn request_credit(&mut self, consumer: ConsumerId) {
        if self.takeover.holds_deliveries || self.is_shutting_down {
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
        is_queued && !self.is_rate_limited(name, settings)
    }

    /// Stops deliveries, or resumes them and delivers everything that can be.
    pub(super) fn hold_deliveries(&mut self, holds_deliveries: bool) {
        self.takeover.holds_deliveries = holds_deliveries;
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
        !self.is_shutting_down && !self.takeover.holds_deliveries
    }

    /// This leader begins now, after another one.
    pub(super) const fn handle_takeover(&mut self) {
        self.takeover.began = Some(self.now);
    }

    /// Whether a task was due before this leader began, and its ack timeout has not passed since: a
    /// connection can have it of which this leader does not know.
    pub(super) fn was_due_before_takeover(&mut self, route: &str, id: &str) -> bool {
        let Some(began) = self.takeover.began else {
            return false;
        };
        let passed = self.now.monotonic.since(began.monotonic);
        if passed >= nanos(LONGEST_ACK_TIMEOUT) {
            self.takeover.began = None;
            return false;
        }
        let name = match self.view.name(route, id) {
            Ok(Some(name)) => name,
            Ok(None) => return false,
            // The ledger meets the error again, and reports it.
            Err(_) => return true,
        };
        let (Place::Waiting(at) | Place::Parked(at)) = name.place else {
            return false;
        };
        // A retry waits for a later time than the task was due at.
        let began = began.wall_millis();
        let was_due = at <= began || name.fire_at <= began && name.attempt > 0;
        let own = name.terms.and_then(|terms| terms.ack_timeout_ms);
        let of_route = || self.settings.of_route(route).ack_timeout;
        let timeout = own.map_or_else(of_route, Duration::from_millis);
        was_due && passed < nanos(timeout)
    }
}
