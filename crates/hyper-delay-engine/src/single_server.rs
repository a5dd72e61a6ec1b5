//! The core of a server that is no node of a cluster: the front of its connections, and the scheduler.
//!
//! Both are on one thread, and call each other. A request of a client gets its full names from the
//! [`front`](crate::front) and goes to the scheduler at once; what the scheduler has for a connection
//! passes the front on its way out.

mod messages;
mod pending_requests;
mod requests;

use std::{mem, sync::Arc};

#[cfg(test)]
use crate::scheduler::CreditChange;
use crate::{
    clock::Now,
    front::{ConsumerMessage, Front, FrontInput, FrontSettings, LoanChange, ReplyTo},
    metrics::{MemoryGauges, Metrics},
    scheduler::{
        CommitJob, CommittedJob, ConsumerId, NextCall, Scheduler, SchedulerInput, SchedulerMessage,
        UnsentReason,
    },
    shard::ShardId,
};
use hyper_delay_protocol::Reply;
use hyper_delay_store::{Store, StoreError};
use pending_requests::{PendingRequests, ReplyAction};

/// The only shard.
const SHARD: ShardId = ShardId(0);

/// See the [module](self).
#[derive(Debug)]
pub struct SingleServer<S> {
    front: Front<()>,
    scheduler: Scheduler<S>,
    /// The requests that the scheduler has not answered.
    pending: PendingRequests,
    messages: Vec<(ConsumerId, ConsumerMessage)>,
    /// Empty; kept for its memory.
    passing: Vec<(ConsumerId, SchedulerMessage)>,
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
            scheduler,
            pending: PendingRequests::default(),
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
                let room = self.scheduler.settings().config().max_line_bytes;
                let (to, reply) = request.complete([counts], connections, &metrics, room);
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
                let id = self.pending.add(to, ReplyAction::ReplyOnly);
                self.scheduler.operate(id, *operated);
            }
            FrontInput::NotSent(copy, why) => self.not_sent(copy, why),
            // Its deliveries have no leadership that could end.
            FrontInput::Revoked { copy, attempt, .. } => {
                self.not_sent(copy, UnsentReason::Void { attempt });
            }
            FrontInput::ShuttingDown => self.input(SchedulerInput::ShuttingDown),
            FrontInput::Settings(settings) => {
                self.front
                    .set_settings(FrontSettings::from(&**settings.config()));
                self.input(SchedulerInput::Settings(settings));
            }
        }
        self.pass_messages();
    }

    /// Operations are on disk, in the order in which they were asked for.
    pub fn committed(&mut self, committed: Vec<CommittedJob>, now: Now) {
        self.now = now;
        // Most of them answer a request.
        self.messages.reserve(committed.len());
        self.scheduler
            .handle(SchedulerInput::Committed(committed), now);
        self.pass_messages();
    }

    /// Advances the time and delivers what is due. Does a bounded amount of work.
    pub fn tick(&mut self, now: Now) -> NextCall {
        self.now = now;
        let next = self.scheduler.tick(now);
        let has_more = self.pass_messages();
        let queued = self.front.next();
        if queued.is_some() {
            self.expire_queued();
            self.pass_messages();
        }
        match (next, queued) {
            // What follows from the messages can have brought the next event forward.
            _ if has_more => NextCall::Now,
            (next, None) => next,
            (NextCall::At(at), Some(queued)) => NextCall::At(at.min(queued)),
            (NextCall::Never, Some(queued)) => NextCall::At(queued),
            (NextCall::Now, Some(_)) => NextCall::Now,
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
    pub fn is_idle(&self, consumer: ConsumerId) -> bool {
        self.front.has_no_route(consumer) && self.scheduler.has_no_copy(consumer)
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
        self.messages.push(to.message(Some(reply)));
    }
}

#[cfg(test)]
mod tests;
