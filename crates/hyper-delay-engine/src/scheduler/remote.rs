//! What only a cluster needs: credit that is lent, registrations with an earlier leader, and
//! answers that name their deliveries in full.

use std::{sync::Arc, time::Duration};

use rustc_hash::FxHashSet;

use super::{
    Acked, ConsumerId, Credit, Message, Nacked, Scheduler, Token,
    consumer::Copy,
    inherited::Inherited,
    round::{GivenBack, Harm},
};
use crate::{
    clock::{Now, nanos},
    ledger::Op,
};
use hyper_delay_protocol::{Mode, Named};
use hyper_delay_store::{Store, record::Place};

/// The longest ack timeout that a task, a route or the configuration can have.
const LONGEST_ACK_TIMEOUT: Duration = Duration::from_secs(86_400);

/// What only the scheduler of a shard has. That of a single node leaves it empty.
#[derive(Debug, Default)]
pub(super) struct Remote {
    /// Nothing is delivered.
    pub(super) is_holding: bool,
    /// When this leader began, until the longest ack timeout has passed since.
    began: Option<Now>,
    pub(super) inherited: Inherited,
    /// Revisions whose ack is on its way to the disk, and that are not in memory: they can be read
    /// before.
    finishing: FxHashSet<u64>,
}

impl Remote {
    /// Whether no task is known that an earlier leader has delivered.
    pub(super) fn inherits_nothing(&self) -> bool {
        self.inherited.is_empty() && self.finishing.is_empty()
    }

    /// An ack is on its way to the disk, of a task that is not in memory.
    pub(super) fn finish(&mut self, seq: u64) {
        self.finishing.insert(seq);
    }

    pub(super) fn is_finishing(&self, seq: u64) -> bool {
        self.finishing.contains(&seq)
    }

    /// An ack is on disk.
    pub(super) fn finished(&mut self, seq: u64) {
        if !self.finishing.is_empty() {
            self.finishing.remove(&seq);
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// A connection is lent credit.
    pub(super) fn lent(&mut self, consumer: ConsumerId, credit: u16) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_lending(|lending| lending.lend(credit)));
        self.returned(consumer, returned);
        self.dispatch_for(consumer);
    }

    /// A connection is to give back credit that it was lent.
    pub(super) fn recalled(&mut self, consumer: ConsumerId, credit: u16) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_lending(|lending| lending.recall(credit)));
        self.returned(consumer, returned);
    }

    /// Gives back what is recalled of the credit of a connection and no copy uses any more.
    pub(super) fn give_back(&mut self, consumer: ConsumerId) {
        let state = self.consumers.get_mut(consumer);
        let returned = state.map(|state| state.change_lending(|_| ()));
        self.returned(consumer, returned);
    }

    fn returned(&mut self, consumer: ConsumerId, credit: Option<u16>) {
        if let Some(credit) = credit.filter(|credit| *credit > 0) {
            let message = Message::Credit(Credit::Returned(credit));
            self.messages.push((consumer, message));
        }
    }

    /// Asks for more credit if a connection has no room and a route has a task for it. A route that
    /// has none waits no longer for the connection: it will again when one is queued.
    pub(super) fn want_more(&mut self, consumer: ConsumerId) {
        if self.remote.is_holding || self.is_ending {
            return;
        }
        while let Some(state) = self.consumers.get(consumer)
            && state.could_want()
            && let Some(name) = state.first_waiting().cloned()
        {
            let is_wanted = state.has_route(&name) && self.has_task_now(&name);
            let Some(state) = self.consumers.get_mut(consumer) else {
                return;
            };
            if !is_wanted {
                state.drop_first_waiting();
            } else if state.wants() {
                let message = Message::Credit(Credit::Wanted);
                self.messages.push((consumer, message));
            }
        }
    }

    /// Whether a task of a route is queued that lacks only a consumer. What is parked is read soon.
    fn has_task_now(&mut self, name: &Arc<str>) -> bool {
        let Some(route) = self.routes.get(name) else {
            return false;
        };
        let (is_queued, settings) = (route.queued() > 0, route.settings());
        if !is_queued && route.backlog().is_some() {
            self.routes.want(name.clone());
        }
        is_queued && !self.must_wait(name, settings)
    }

    /// A connection has registered a route with an earlier leader.
    pub(super) fn bound(&mut self, consumer: ConsumerId, route: &Arc<str>, mode: Mode) {
        self.bind(consumer, route, mode);
        self.refill(route);
        self.dispatch(route);
    }

    /// Begins or ends to deliver nothing. In the end everything is delivered that can be.
    pub(super) fn set_holding(&mut self, is_holding: bool) {
        self.remote.is_holding = is_holding;
        if is_holding {
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
        !self.is_ending && !self.remote.is_holding
    }

    /// This leader begins now, after another one.
    pub(super) const fn took_over(&mut self) {
        self.remote.began = Some(self.now);
    }

    /// Whether a task was due before this leader began, and its ack timeout has not passed since: a
    /// connection can have it of which this leader does not know.
    pub(super) fn was_due_before(&mut self, route: &str, id: &str) -> bool {
        let Some(began) = self.remote.began else {
            return false;
        };
        let passed = self.now.monotonic.since(began.monotonic);
        if passed >= nanos(LONGEST_ACK_TIMEOUT) {
            self.remote.began = None;
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

    /// A delivery is acknowledged that has its full name. If this leader does not know it, an
    /// earlier one has made it.
    pub(super) fn acked_by_name(&mut self, acked: Acked) {
        let Acked {
            consumer,
            subject,
            confirm,
        } = acked;
        let (id, seq) = (subject.id.clone(), subject.seq);
        let named = Named {
            id: id.clone(),
            route: Some(subject.route.clone()),
            attempt: Some(subject.attempt),
        };
        let copy = Copy {
            route: subject.route.clone(),
            seq,
            attempt: subject.attempt,
            end: None,
        };
        let state = self.consumers.get(consumer);
        if state.is_some_and(|state| state.has(&id, &copy)) {
            return self.acked(consumer, named, confirm);
        }
        if let Some(copy) = self.consumers.take_late(consumer, &id, &copy) {
            return self.ack_copy(consumer, (id, copy), false, confirm);
        }
        let is_other = |task: &super::task::Task| task.id != id || task.route != subject.route;
        if self.tasks.get(seq).is_some_and(is_other) {
            return self.unknown_ack(named, confirm);
        }
        self.finish(seq, &id);
        if !self.tasks.contains(seq) {
            self.remote.finish(seq);
        }
        let token = confirm.map_or(Token::None, Token::Reply);
        self.submit(Op::Finish(subject), token);
    }

    /// A delivery is given back that has its full name.
    pub(super) fn nacked_by_name(&mut self, nacked: Nacked) {
        let Nacked {
            consumer,
            named,
            seq,
            delay_ms,
            reason,
            failed,
        } = nacked;
        let state = self.consumers.get(consumer);
        let has_copy = match (&named.route, named.attempt) {
            (Some(route), Some(attempt)) => state.is_some_and(|state| {
                let copy = Copy {
                    route: route.clone(),
                    seq,
                    attempt,
                    end: None,
                };
                state.has(&named.id, &copy)
            }),
            _ => false,
        };
        if !has_copy {
            self.metrics.unknown_answers.add(1);
            return;
        }
        let most = self.settings.max_delay_millis;
        let given_back = GivenBack {
            delay_ms: delay_ms.map(|delay| delay.min(most)),
            reason,
            harm: Harm::of_nack(failed),
        };
        self.nacked(consumer, &named, given_back);
    }
}
