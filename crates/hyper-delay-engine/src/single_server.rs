//! The core of a server that is no node of a cluster: the front of its connections, and the scheduler.
//!
//! Both are on one thread, and call each other. A request of a client gets its full names from the
//! [`front`](crate::front) and goes to the scheduler at once; what the scheduler has for a connection
//! passes the front on its way out.

mod lines;

use std::{mem, sync::Arc};

#[cfg(test)]
use crate::scheduler::CreditChange;
use crate::{
    clock::Now,
    front::{
        Admission, ClientRequest, ConsumerMessage, Delivery, Front, FrontInput, FrontSettings,
        LoanChange, NamedSchedule, Pending, Registration, ReplyTo,
    },
    ledger::ScheduleOrder,
    metrics::{MemoryGauges, Metrics},
    scheduler::{
        CommitJob, CommittedJob, ConsumerId, CopyId, Nack, NextCall, Scheduler, SchedulerInput,
        SchedulerMessage, SentCopy, UnsentReason,
    },
    shard::ShardId,
};
use hyper_delay_protocol::{
    DeliverySelector, RegisterMode, Reply, Schedule, TaskRequest, access::Grant,
};
use hyper_delay_store::{Store, StoreError};
use lines::{Line, Lines};

/// The only shard.
const SHARD: ShardId = ShardId(0);

/// See the [module](self).
#[derive(Debug)]
pub struct SingleServer<S> {
    front: Front<()>,
    scheduler: Scheduler<S>,
    /// The requests that the scheduler has not answered.
    lines: Lines,
    messages: Vec<(ConsumerId, ConsumerMessage)>,
    /// Empty; kept for its memory.
    passing: Vec<(ConsumerId, SchedulerMessage)>,
    max_line_bytes: usize,
    now: Now,
    /// What the scheduler has asked for and returned.
    #[cfg(test)]
    credit_changes: Vec<(ConsumerId, CreditChange)>,
}

/// The effects of inputs and of time, for the committer and the connections.
#[derive(Debug, Default)]
pub struct SingleServerEffects {
    /// For the committer, in this order.
    pub jobs: Vec<CommitJob>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, ConsumerMessage)>,
    /// The store cannot be read: the server ends.
    pub failed: Option<StoreError>,
}

impl<S: Store> SingleServer<S> {
    /// Creates the core of a server with a scheduler.
    #[must_use]
    pub fn new(scheduler: Scheduler<S>, now: Now) -> Self {
        let config = scheduler.settings().config();
        Self {
            front: Front::new(FrontSettings::from(&**config), 1),
            max_line_bytes: config.max_line_bytes,
            scheduler,
            lines: Lines::default(),
            messages: Vec::new(),
            passing: Vec::new(),
            now,
            #[cfg(test)]
            credit_changes: Vec::new(),
        }
    }

    /// Handles an event of a connection.
    pub fn handle(&mut self, input: FrontInput, now: Now) {
        self.now = now;
        self.scheduler.note_input(now);
        match input {
            FrontInput::Opened(consumer) => self.open(consumer),
            FrontInput::Closing(consumer) => {
                self.front.close_soon(consumer);
                self.input(SchedulerInput::Closing(consumer));
            }
            FrontInput::Closed(consumer) => {
                self.front.close(consumer);
                self.input(SchedulerInput::Closed(consumer));
            }
            FrontInput::Requested(consumer, requests) => {
                for request in requests {
                    self.request(consumer, request);
                    // Replies keep their order, whoever gives them.
                    self.pass_messages();
                }
            }
            FrontInput::Stats(request) => {
                let counts = self.scheduler.stats_from_memory(&request.selection);
                let metrics = self.scheduler.metrics();
                let connections = self.front.len() as u64;
                let (to, reply) =
                    request.complete([counts], connections, &metrics, self.max_line_bytes);
                self.reply(to, reply);
            }
            FrontInput::Future(to) => {
                let metrics = self.scheduler.metrics();
                let future = metrics.forecast.read(now.wall_millis());
                self.reply(to, Reply::Future(Box::new(future)));
            }
            FrontInput::TaskLookup(lookup) => {
                let in_flight = self.scheduler.in_flight_attempts(&lookup.seqs).collect();
                let (to, reply) = lookup.complete(&in_flight);
                self.reply(to, reply);
            }
            FrontInput::Operated(to, operated) => {
                let id = self.lines.add(to, Pending::NONE);
                self.scheduler.operate(id, *operated);
            }
            FrontInput::NotSent(copy, why) => self.not_sent(copy, why),
            // Its deliveries hold for ever.
            FrontInput::Revoked { copy, attempt, .. } => {
                self.not_sent(copy, UnsentReason::Void { attempt });
            }
            FrontInput::ShuttingDown => self.input(SchedulerInput::ShuttingDown),
            FrontInput::Settings(settings) => {
                self.front
                    .set_settings(FrontSettings::from(&**settings.config()));
                self.max_line_bytes = settings.config().max_line_bytes;
                self.input(SchedulerInput::Settings(settings));
            }
        }
        self.pass_messages();
    }

    /// Operations are on disk, in the order in which they were asked for.
    pub fn committed(&mut self, committed: Vec<CommittedJob>, now: Now) {
        self.now = now;
        self.scheduler
            .handle(SchedulerInput::Committed(committed), now);
        self.pass_messages();
    }

    /// Advances the time and delivers what is due. Does a bounded amount of work.
    pub fn tick(&mut self, now: Now) -> NextCall {
        self.now = now;
        let next = self.scheduler.tick(now);
        self.pass_messages();
        let Some(queued) = self.front.next() else {
            return next;
        };
        self.expire_queued();
        self.pass_messages();
        match next {
            NextCall::At(at) => NextCall::At(at.min(queued)),
            NextCall::Never => NextCall::At(queued),
            NextCall::Now => NextCall::Now,
        }
    }

    /// Returns the effects since the last call.
    pub fn take_effects(&mut self) -> SingleServerEffects {
        SingleServerEffects {
            jobs: self.scheduler.take_jobs(),
            messages: mem::take(&mut self.messages),
            failed: self.scheduler.take_failure(),
        }
    }

    /// Returns whether no job is in flight: everything that was submitted is on disk.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.scheduler.is_settled()
    }

    /// Returns whether a connection has no route and no delivery in flight.
    #[must_use]
    pub fn is_idle(&self, consumer: ConsumerId, now: Now) -> bool {
        self.front.is_idle(consumer, now.monotonic)
    }

    /// Returns whether a route has consumers.
    #[must_use]
    pub fn has_consumers(&self, route: &str) -> bool {
        self.scheduler.has_consumers(route)
    }

    /// Counts what is in memory.
    #[must_use]
    pub fn in_memory(&self, now: Now) -> MemoryGauges {
        self.scheduler.in_memory(now)
    }

    /// Returns what the server counts. Other threads count there, too.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        self.scheduler.metrics()
    }

    fn input(&mut self, input: SchedulerInput) {
        self.scheduler.handle(input, self.now);
    }

    fn open(&mut self, consumer: ConsumerId) {
        self.front.open(consumer);
        self.input(SchedulerInput::Opened(consumer));
        self.front.begin_loan(consumer, SHARD, 0);
        self.balance(consumer);
    }

    /// Lends the scheduler all of a connection's credit.
    fn balance(&mut self, consumer: ConsumerId) {
        for change in self.front.balance(consumer) {
            match change {
                LoanChange::Lend(_, credit) => {
                    self.scheduler.lend(consumer, credit);
                }
                LoanChange::Recall(_, credit) => {
                    self.scheduler.recall(consumer, credit);
                }
            }
        }
    }

    fn reply(&mut self, to: ReplyTo, reply: Reply) {
        let ReplyTo {
            consumer,
            tag,
            weight,
        } = to;
        let message = ConsumerMessage::Reply { reply, tag, weight };
        self.messages.push((consumer, message));
    }

    fn request(&mut self, consumer: ConsumerId, request: ClientRequest) {
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
                let id = self.lines.add(to, pending);
                self.scheduler.unregister(id, route);
            }
            TaskRequest::Cancel { route, id } => {
                let request = self.lines.add(to, Pending::NONE);
                self.scheduler.cancel(request, route, id);
            }
        }
    }

    fn register(&mut self, to: ReplyTo, route: &Arc<str>, registration: Registration) {
        let (consumer, mode) = (to.consumer, registration.mode);
        let departing = self.scheduler.departing();
        match self
            .front
            .register(consumer, route, registration, departing)
        {
            Err(refusal) => self.reply(to, Reply::Error(refusal)),
            Ok(pending) => {
                // A lower credit holds at once.
                self.balance(consumer);
                let id = self.lines.add(to, pending);
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
            pending,
            binds,
        } = match named {
            Ok(named) => named,
            Err(refusal) => return self.reply(to, Reply::Error(refusal)),
        };
        if binds {
            self.scheduler.bind(consumer, &route, RegisterMode::Shared);
        }
        let request = self.lines.add(to, pending);
        let order = ScheduleOrder::of(schedule, (route, id), self.now.wall_millis());
        self.scheduler.schedule(request, order, grant);
    }

    fn ack(&mut self, to: ReplyTo, named: DeliverySelector, confirm: bool) {
        let consumer = to.consumer;
        let Some(delivery) = self.front.ack(consumer, &named, self.now.monotonic) else {
            self.scheduler.metrics().unknown_answers.add(1);
            let acked = confirm.then_some(Reply::Acked {
                id: named.id,
                route: named.route,
                removed: false,
            });
            return self.answer(to, acked);
        };
        let free = self.free_id(consumer, &named.id);
        let revision = delivery.into_revision(named.id);
        let number = match confirm {
            true => Some(self.lines.add(to, Pending::NONE).number),
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
        let delivery = match self
            .front
            .nack(consumer, &named, delay_ms, self.now.monotonic)
        {
            Ok(delivery) => delivery,
            Err(refusal) => return self.reply(to, Reply::Error(refusal)),
        };
        self.answer(to, None);
        let Some(delivery) = delivery else {
            return self.scheduler.metrics().unknown_answers.add(1);
        };
        let free = self.free_id(consumer, &named.id);
        let nack = Nack {
            revision: delivery.revision(named.id.clone()),
            delay_ms,
            reason,
            failed,
        };
        if !self.scheduler.nack(consumer, nack) {
            self.front.put_back(consumer, named.id, delivery);
        }
        self.release_free(consumer, free);
    }

    fn touch(&mut self, to: ReplyTo, named: DeliverySelector, extend_ms: Option<u64>) {
        let Some(delivery) = self.front.touch(to.consumer, &named) else {
            let touched = Reply::Touched {
                id: named.id,
                route: named.route,
                attempt: named.attempt,
                deadline: None,
            };
            return self.reply(to, touched);
        };
        let named = delivery.named(named.id);
        let id = self.lines.add(to, Pending::NONE);
        self.scheduler.touch(id, named, extend_ms);
    }

    /// Answers a request without the scheduler. Without a reply, its room is free.
    fn answer(&mut self, to: ReplyTo, reply: Option<Reply>) {
        match reply {
            Some(reply) => self.reply(to, reply),
            None => {
                let done = ConsumerMessage::Done(to.weight);
                self.messages.push((to.consumer, done));
            }
        }
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

    /// A delivery was not sent.
    fn not_sent(&mut self, copy: CopyId, why: UnsentReason) {
        self.front
            .remove_unsent(copy.consumer, &copy.id, copy.seq, why.attempt());
        self.scheduler.not_sent(&copy, &why);
        self.release(copy.consumer, copy.id);
    }

    /// Passes what the scheduler has for connections through the front, which can have consequences
    /// for the scheduler.
    fn pass_messages(&mut self) {
        if !self.scheduler.has_messages() {
            return;
        }
        let mut passing = mem::take(&mut self.passing);
        while self.scheduler.has_messages() {
            self.scheduler.swap_messages(&mut passing);
            for (consumer, message) in passing.drain(..) {
                self.pass_message(consumer, message);
            }
        }
        self.passing = passing;
    }

    fn pass_message(&mut self, consumer: ConsumerId, message: SchedulerMessage) {
        match message {
            SchedulerMessage::Deliver(copy) => self.deliver(consumer, copy),
            SchedulerMessage::Reply(number, mut reply) => {
                let Some(Line { to, pending }) = self.lines.take(number) else {
                    debug_assert!(false, "a request is answered once");
                    return;
                };
                if pending.is_none() {
                    self.note_touched(consumer, &reply);
                    return self.reply(to, reply);
                }
                let leaves = self.front.answered(consumer, pending, &mut reply);
                self.reply(to, reply);
                if let Some(route) = leaves {
                    self.scheduler.leave(consumer, &route);
                }
                self.balance(consumer);
            }
            SchedulerMessage::Notice(reply) => {
                if let Reply::Unregistered { route, .. } = &reply {
                    self.front.replaced(consumer, route);
                }
                let to = ReplyTo {
                    consumer,
                    tag: None,
                    weight: 0,
                };
                self.reply(to, reply);
            }
            SchedulerMessage::Credit(change) => {
                #[cfg(test)]
                self.credit_changes.push((consumer, change));
                self.front.credit_changed(consumer, SHARD, change);
                self.balance(consumer);
            }
        }
    }

    fn deliver(&mut self, consumer: ConsumerId, copy: SentCopy) {
        let SentCopy {
            seq,
            route,
            id,
            attempt,
            until,
            write_by,
            ..
        } = copy;
        let delivery = Delivery {
            route: route.clone(),
            seq,
            attempt,
            until,
            write_by,
            origin: (),
        };
        match self
            .front
            .deliver(consumer, &id, delivery, self.now.monotonic)
        {
            Admission::Send(accept) => self.messages.push((
                consumer,
                ConsumerMessage::Deliver {
                    seq,
                    route,
                    id,
                    attempt,
                    until,
                    write_by,
                    accept,
                    authority: None,
                },
            )),
            Admission::Queued => {}
            Admission::Void => {
                let copy = CopyId { consumer, seq, id };
                self.not_sent(copy, UnsentReason::Void { attempt });
            }
        }
    }

    /// A touch has given a delivery more time.
    fn note_touched(&mut self, consumer: ConsumerId, reply: &Reply) {
        if let Reply::Touched {
            id,
            route,
            attempt,
            deadline: Some(deadline),
        } = reply
        {
            let named = DeliverySelector {
                id: id.clone(),
                route: route.clone(),
                attempt: *attempt,
            };
            if let Some(delivery) = self.front.touched_mut(consumer, &named) {
                delivery.until = delivery.until.max(self.now.tick_of(*deadline));
            }
        }
    }

    /// An id is free on a connection: the delivery that waits for it is sent.
    fn release(&mut self, consumer: ConsumerId, id: Arc<str>) {
        if let Some((delivery, accept)) = self.front.release(consumer, &id) {
            let Delivery {
                route,
                seq,
                attempt,
                until,
                write_by,
                ..
            } = delivery;
            let message = ConsumerMessage::Deliver {
                seq,
                route,
                id,
                attempt,
                until,
                write_by,
                accept,
                authority: None,
            };
            self.messages.push((consumer, message));
        }
    }

    /// Gives back the deliveries that have waited for their ids too long, and sends those whose ids
    /// are free.
    fn expire_queued(&mut self) {
        let (late, free) = self.front.expire(self.now.monotonic);
        for (consumer, id, Delivery { seq, attempt, .. }) in late {
            let copy = CopyId { consumer, seq, id };
            let why = UnsentReason::Unwritten { attempt };
            self.scheduler.not_sent(&copy, &why);
        }
        for (consumer, id, ()) in free {
            self.release(consumer, id);
        }
    }
}

#[cfg(test)]
mod tests;
