//! The requests of connections.

use std::sync::Arc;

use super::{SingleServer, pending_requests::ReplyAction};
use crate::{
    front::{ClientRequest, GivenBack, GivenNames, NamedSchedule, Registration, ReplyTo},
    ledger::ScheduleOrder,
    scheduler::{ConsumerId, Nack},
};
use hyper_delay_protocol::{DeliverySelector, Reply, Schedule, TaskRequest, access::Grant};
use hyper_delay_store::Store;

impl<S: Store> SingleServer<S> {
    pub(super) fn request(&mut self, consumer: ConsumerId, request: ClientRequest) {
        let ClientRequest {
            tag,
            request,
            weight,
            grant,
        } = request;
        let to = ReplyTo {
            consumer,
            tag,
            weight,
        };
        match request {
            TaskRequest::Ping => self.reply(to, Reply::Pong),
            TaskRequest::Schedule(schedule) => self.schedule(to, schedule, grant),
            TaskRequest::Ack { delivery, confirm } => self.ack(to, delivery, confirm),
            TaskRequest::Nack {
                delivery,
                delay_ms,
                reason,
                failed,
            } => self.nack(to, delivery, (delay_ms, reason, failed)),
            TaskRequest::Touch {
                delivery,
                extend_ms,
            } => self.touch(to, delivery, extend_ms),
            TaskRequest::Register {
                route,
                credit,
                mode,
                accept,
            } => {
                let registration = Registration {
                    mode,
                    credit,
                    accept,
                };
                self.register(to, &route, registration);
            }
            TaskRequest::Unregister { route } => {
                let pending = self.front.unregister(to.consumer, &route);
                let id = self.pending.add(to, ReplyAction::Change(pending));
                self.scheduler.unregister(id, route);
            }
            TaskRequest::Cancel { route, id } => {
                let request = self.pending.add(to, ReplyAction::ReplyOnly);
                self.scheduler.cancel(request, route, id);
            }
            TaskRequest::Move { route, id, to: due } => {
                let request = self.pending.add(to, ReplyAction::ReplyOnly);
                self.scheduler.move_task(request, (route, id), due);
            }
        }
    }

    fn register(&mut self, to: ReplyTo, route: &Arc<str>, registration: Registration) {
        let (consumer, mode) = (to.consumer, registration.mode);
        if !self.front.is_open(consumer) {
            return self.answer(to, None);
        }
        let departing = self.scheduler.departing();
        match self
            .front
            .register(consumer, route, registration, departing)
        {
            Err(refusal) => self.reply(to, Reply::Error(refusal)),
            Ok(pending) => {
                // A lower credit holds at once.
                self.balance(consumer);
                let id = self.pending.add(to, ReplyAction::Change(pending));
                self.scheduler.register(id, route, mode);
            }
        }
    }

    fn schedule(&mut self, to: ReplyTo, mut schedule: Schedule, grant: Option<Arc<Grant>>) {
        let consumer = to.consumer;
        let departing = self.scheduler.departing();
        let named = self
            .front
            .schedule(consumer, &mut schedule, grant.as_deref(), departing);
        let NamedSchedule {
            route,
            id,
            is_id_given,
            pending,
        } = match named {
            Ok(named) => named,
            Err(refusal) => return self.reply(to, Reply::Error(refusal)),
        };
        let now = self.now.wall_millis();
        let order = ScheduleOrder::of(schedule, (route, id), is_id_given, now);
        let action = match pending.is_none() {
            true => ReplyAction::ReplyOnly,
            false => ReplyAction::Change(pending),
        };
        let request = self.pending.add(to, action);
        self.scheduler.schedule(request, order, grant);
    }

    fn ack(&mut self, to: ReplyTo, named: DeliverySelector, confirm: bool) {
        let consumer = to.consumer;
        let Some(delivery) = self.front.ack(consumer, &named, self.now.monotonic) else {
            self.scheduler.metrics().unknown_answers.add(1);
            let (id, names) = GivenNames::split(named);
            return self.answer(to, confirm.then(|| names.acked(id)));
        };
        let free = self.free_id(consumer, &named.id);
        let (id, names) = GivenNames::split(named);
        let revision = delivery.into_revision(id);
        let number = match confirm {
            true => Some(self.pending.add(to, ReplyAction::Answer(names)).number),
            false => {
                self.answer(to, None);
                None
            }
        };
        self.scheduler.ack(consumer, revision, number);
        self.release_free(consumer, free);
    }

    fn nack(
        &mut self,
        to: ReplyTo,
        named: DeliverySelector,
        (delay_ms, reason, failed): (Option<u64>, Option<Arc<str>>, bool),
    ) {
        let consumer = to.consumer;
        let now = self.now.monotonic;
        let given_back = match self.front.nack(consumer, &named, delay_ms, now) {
            Ok(given_back) => given_back,
            Err(refusal) => return self.reply(to, Reply::Error(refusal)),
        };
        self.answer(to, None);
        let Some(GivenBack { delivery, was_late }) = given_back else {
            return self.scheduler.metrics().unknown_answers.add(1);
        };
        let free = self.free_id(consumer, &named.id);
        let nack = Nack {
            revision: delivery.revision(named.id.clone()),
            delay_ms,
            reason,
            failed,
        };
        match (self.scheduler.nack(consumer, nack), was_late) {
            (true, true) => self.front.forget_late(consumer, &named.id, delivery.seq),
            (false, false) => self.front.put_back(consumer, named.id, delivery),
            (true, false) | (false, true) => {}
        }
        self.release_free(consumer, free);
    }

    fn touch(&mut self, to: ReplyTo, named: DeliverySelector, extend_ms: Option<u64>) {
        let Some(delivery) = self.front.touch(to.consumer, &named) else {
            let (id, names) = GivenNames::split(named);
            return self.reply(to, names.touched(id));
        };
        let name = delivery.name(named.id.clone());
        let (_, names) = GivenNames::split(named);
        let id = self.pending.add(to, ReplyAction::Answer(names));
        self.scheduler.touch(id, name, extend_ms);
    }

    /// Answers a request without the scheduler. Without a reply, its room is free.
    fn answer(&mut self, to: ReplyTo, reply: Option<Reply>) {
        self.messages.push(to.message(reply));
    }

    /// Returns the id of a delivery that is answered, if others may wait for it.
    fn free_id(&self, consumer: ConsumerId, id: &Arc<str>) -> Option<Arc<str>> {
        let is_waited_for = self.front.has_queued(consumer);
        is_waited_for.then(|| id.clone())
    }

    fn release_free(&mut self, consumer: ConsumerId, id: Option<Arc<str>>) {
        if let Some(id) = id {
            self.release(consumer, id);
        }
    }
}
