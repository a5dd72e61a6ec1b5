//! The requests of connections in random histories.

use std::sync::Arc;

use super::{World, delivered::Delivered};
use crate::ledger::{Actor, Op};
use crate::{
    front::{ClientRequest, FrontInput, ReplyTo},
    scheduler::{ConsumerId, OperatorRequest},
};
use hyper_delay_protocol::{
    AdminRequest, BulkAct, BulkRequest, Compression, DeliverySelector, Due, Filter, Headers,
    MoveTo, Reply, Schedule, TaskRequest, Terms,
};

/// Returns a request as the connection of a consumer sends it.
fn as_input(consumer: ConsumerId, request: TaskRequest) -> FrontInput {
    let ask = ClientRequest {
        tag: None,
        request,
        weight: 1,
        grant: None,
    };
    FrontInput::Requested(consumer, vec![ask])
}

impl World {
    pub(super) fn ask(&mut self, consumer: ConsumerId, request: TaskRequest) {
        if let TaskRequest::Ack { delivery, .. } | TaskRequest::Nack { delivery, .. } = &request {
            // The front answers nothing for a delivery that only the leader was told of.
            let (front, id) = (self.server.front(), &delivery.id);
            self.nodes.ended((consumer, id), |copy| {
                let is_named = delivery.attempt.is_none_or(|attempt| attempt == copy.1);
                is_named && front.is_open(consumer) && front.delivery(consumer, id, copy).is_some()
            });
        }
        self.input(as_input(consumer, request));
    }

    /// An answer reaches the scheduler.
    pub(super) fn note_answer(&mut self, delivered: &Delivered) {
        let copy = (delivered.seq, delivered.attempt);
        let holder = (delivered.consumer, &delivered.id);
        self.nodes.ended(holder, |it| it == copy);
    }

    /// An operator requests a change.
    pub(super) fn operate(&mut self, request: AdminRequest) {
        let operated = OperatorRequest {
            request,
            actor: Actor::default(),
        };
        let to = ReplyTo {
            consumer: 0,
            tag: None,
            weight: 1,
        };
        self.input(FrontInput::Operated(to, Box::new(operated)));
    }

    pub(super) fn schedule(&mut self, id: &str, fire_at: u64) {
        self.schedule_on("route", id, fire_at, 0, false);
    }

    pub(super) fn schedule_on(
        &mut self,
        route: &str,
        id: &str,
        fire_at: u64,
        payload: u64,
        replace: bool,
    ) {
        self.schedule_with((route, id), fire_at, payload, replace, None);
    }

    pub(super) fn schedule_with(
        &mut self,
        (route, id): (&str, &str),
        fire_at: u64,
        payload: u64,
        replace: bool,
        terms: Option<Terms>,
    ) {
        self.schedule_due((route, id), Due::At(fire_at), payload, replace, terms);
    }

    pub(super) fn schedule_due(
        &mut self,
        (route, id): (&str, &str),
        due: Due,
        payload: u64,
        replace: bool,
        terms: Option<Terms>,
    ) {
        let schedule = Schedule {
            id: Some(id.into()),
            route: Some(route.into()),
            due,
            compression: Compression::None,
            payload: payload.to_be_bytes().into(),
            replace,
            headers: Headers::default(),
            terms: terms.map(Box::new),
        };
        self.ask(0, TaskRequest::Schedule(schedule));
    }

    /// A connection schedules a task without a route: when, with what content, and whether it replaces.
    /// Returns the route, unless that is refused.
    pub(super) fn schedule_without_route(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        (due, payload, replace): (Due, u64, bool),
    ) -> Option<Arc<str>> {
        let schedule = Schedule {
            id: Some(id.into()),
            route: None,
            due,
            compression: Compression::None,
            payload: payload.to_be_bytes().into(),
            replace,
            headers: Headers::default(),
            terms: None,
        };
        let (jobs, replies) = (self.committer.jobs.len(), self.replies.len());
        self.ask(consumer, TaskRequest::Schedule(schedule));
        let mut submitted = self.committer.jobs[jobs..].iter();
        let route = submitted.find_map(|job| match &job.op {
            Op::Schedule(order) => Some(order.route.clone()),
            _ => None,
        });
        if route.is_none() {
            let refused = self.replies.split_off(replies);
            assert!(matches!(refused[..], [(_, Reply::Error(_))]), "{refused:?}");
        }
        route
    }

    pub(super) fn cancel(&mut self, route: &str, id: &str) {
        let (route, id) = (route.into(), id.into());
        self.ask(0, TaskRequest::Cancel { route, id });
    }

    pub(super) fn move_task(&mut self, route: &str, id: &str, to: MoveTo) {
        let (route, id) = (route.into(), id.into());
        self.ask(0, TaskRequest::Move { route, id, to });
    }

    pub(super) fn bulk(&mut self, act: BulkAct, route: &str, filter: Filter) {
        let bulk = BulkRequest {
            act,
            route: route.into(),
            filter,
            in_flight: false,
        };
        self.operate(AdminRequest::Bulk(Box::new(bulk)));
    }

    pub(super) fn ack(&mut self, consumer: ConsumerId, id: &Arc<str>, attempt: u32) {
        let delivery = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: Some(attempt),
        };
        let confirm = true;
        self.ask(consumer, TaskRequest::Ack { delivery, confirm });
    }

    pub(super) fn ack_delivery(&mut self, delivered: &Delivered) {
        self.ask(delivered.consumer, delivered.ack());
    }

    pub(super) fn nack_delivery(&mut self, delivered: &Delivered, delay_ms: Option<u64>) {
        self.failed(delivered);
        self.ask(delivered.consumer, delivered.nack(delay_ms, true));
    }

    /// A consumer gives a delivery back, and has not failed.
    pub(super) fn give_back(&mut self, delivered: &Delivered, delay_ms: Option<u64>) {
        let Delivered { id, consumer, .. } = delivered;
        let copy = (delivered.seq, delivered.attempt);
        let front = self.server.front();
        // The front answers nothing for a delivery that only the leader was told of.
        if front.is_open(*consumer) && front.delivery(*consumer, id, copy).is_some() {
            self.unharmed(delivered);
        }
        self.ask(delivered.consumer, delivered.nack(delay_ms, false));
    }

    /// A delivery is declined, if it is in flight.
    pub(super) fn unharmed(&mut self, delivered: &Delivered) {
        if !self.has_in_flight(delivered) {
            return;
        }
        let Delivered {
            consumer,
            seq,
            attempt,
            ..
        } = *delivered;
        // A round that has failed before the copy was reported again stays a failure.
        let names = (&*delivered.route, &*delivered.id);
        if self.is_of_round(consumer, seq) || self.is_of_next_round(names, (seq, attempt)) {
            self.outcomes.copy_end(seq, attempt, consumer);
        } else {
            self.outcomes.unwritten(seq);
        }
    }

    /// A delivery is given back as failed, if it is in flight.
    pub(super) fn failed(&mut self, delivered: &Delivered) {
        if self.has_in_flight(delivered) {
            self.outcomes.failed(delivered.seq, delivered.attempt);
        }
    }

    /// Whether a delivery is in flight.
    fn has_in_flight(&self, delivered: &Delivered) -> bool {
        let consumers = &self.server.scheduler().consumers;
        let copy = consumers.in_flight_of(delivered.consumer, &delivered.name());
        copy.is_some_and(|copy| copy.seq == delivered.seq)
    }

    pub(super) fn touch(&mut self, delivered: &Delivered, extend_ms: Option<u64>) {
        self.ask(delivered.consumer, delivered.touch(extend_ms));
    }

    /// The registrations that the scheduler has, those of closed connections included.
    pub(super) fn registrations(&self) -> usize {
        let routes = self.server.scheduler().routes.iter();
        routes.map(|(_, route)| route.len()).sum()
    }
}
