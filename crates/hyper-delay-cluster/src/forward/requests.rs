//! Requests of clients.

use std::sync::Arc;

use super::{
    Forwarder,
    leader_queries::Query,
    leader_session::{PendingRequest, QueueableRequest, ReplyAction},
    wire::{ForwardedRequest, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::{
    front::{
        ClientRequest, FrontInput, NamedSchedule, NoAnswer, OwnRegistration, Pending, Registration,
        ReplyTo,
    },
    scheduler::{ConsumerId, RouteRequest, UnsentReason},
};
use hyper_delay_protocol::{Reply, Schedule, TaskRequest, access::Grant};

impl Forwarder {
    /// Something has happened on a connection.
    pub(super) fn handle_input(&mut self, input: FrontInput) {
        match input {
            FrontInput::Opened(consumer) => {
                self.front.open(consumer);
                self.served.open(consumer);
            }
            FrontInput::Closing(consumer) => self.closing(consumer),
            FrontInput::Closed(consumer) => self.closed(consumer),
            FrontInput::Requested(consumer, asks) => {
                for ask in asks {
                    self.handle_request(consumer, ask);
                }
            }
            FrontInput::Operated(to, operated) => self.forward_operator_request(to, *operated),
            FrontInput::TaskLookup(seen) => self.query(Query::in_flight(seen)),
            FrontInput::Future(reply_to) => self.query(Query::future(reply_to)),
            FrontInput::Stats(asked) => self.query(Query::counts(asked)),
            FrontInput::Settings(settings) => self.configure(settings.config()),
            FrontInput::ShuttingDown => self.ending(),
            FrontInput::NotSent(copy, why) => self.report_unsent(copy, why),
            FrontInput::Revoked {
                copy,
                attempt,
                authority,
            } => {
                if self.has_copy_of(&copy, &authority) {
                    self.report_unsent(copy, UnsentReason::Void { attempt });
                }
            }
        }
    }

    /// This node ends. Its connections close one by one, and what they have in flight has not failed.
    fn ending(&mut self) {
        self.is_ending = true;
        for shard in (0..self.shards).map(ShardId) {
            if self.session(shard).active().is_some() {
                self.send(shard, ToLeader::Ending);
            }
        }
    }

    fn closing(&mut self, consumer: ConsumerId) {
        if !self.front.close_soon(consumer) {
            return;
        }
        for shard in self.served.shards_of(consumer) {
            self.send(shard, ToLeader::Closing(consumer));
        }
    }

    fn closed(&mut self, consumer: ConsumerId) {
        self.return_waiting_copies(consumer, |_| true);
        self.front.close(consumer);
        for shard in self.served.close(consumer) {
            self.send(shard, ToLeader::Closed(consumer));
        }
    }

    fn handle_request(&mut self, consumer: ConsumerId, ask: ClientRequest) {
        let ClientRequest {
            tag,
            request,
            weight,
            grant,
        } = ask;
        let reply_to = ReplyTo {
            consumer,
            tag,
            weight,
        };
        let to = PendingRequest::new(reply_to, request.names());
        match request {
            TaskRequest::Ping => self.reply(to, Reply::Pong),
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
                self.register(to, route, registration);
            }
            TaskRequest::Unregister { route } => {
                let change = self.front.unregister(consumer, &route);
                self.balance(consumer);
                let to = PendingRequest { change, ..to };
                self.forward_request(to, RouteRequest::Unregister { route });
            }
            TaskRequest::Schedule(schedule) => self.schedule(to, schedule, grant),
            TaskRequest::Ack { delivery, confirm } => self.acked(to, delivery, confirm),
            TaskRequest::Nack {
                delivery,
                delay_ms,
                reason,
                failed,
            } => self.nacked(to, &delivery, (delay_ms, reason, failed)),
            TaskRequest::Touch {
                delivery,
                extend_ms,
            } => self.touched(to, delivery, extend_ms),
            TaskRequest::Cancel { route, id } => {
                self.forward_request(to, RouteRequest::Cancel { route, id });
            }
            TaskRequest::Move { route, id, to: due } => {
                let request = RouteRequest::Move { route, id, to: due };
                self.forward_request(to, request);
            }
        }
    }

    /// Passes a request to the leader of the shard of its route.
    pub(super) fn forward_request(&mut self, to: PendingRequest, request: RouteRequest) {
        let shard = self.front.shard_of(request.names().0);
        let request = Box::new(ForwardedRequest::Request(request));
        let consumer = to.reply_to.consumer;
        self.forward(shard, consumer, QueueableRequest::Request(request, to));
    }

    fn register(&mut self, to: PendingRequest, route: Arc<str>, registration: Registration) {
        let (consumer, mode) = (to.reply_to.consumer, registration.mode);
        if !self.front.is_open(consumer) {
            return self.reply_or_release(to, None);
        }
        let change = match self.front.register(consumer, &route, registration, 0) {
            Ok(change) => change,
            Err(refusal) => return self.refuse(to, refusal),
        };
        self.balance(consumer);
        let to = PendingRequest { change, ..to };
        self.forward_request(to, RouteRequest::Register { route, mode });
    }

    /// Passes a schedule on, with a route and an id: a client that must repeat it has both.
    fn schedule(
        &mut self,
        mut to: PendingRequest,
        mut schedule: Schedule,
        grant: Option<Arc<Grant>>,
    ) {
        let consumer = to.reply_to.consumer;
        let named = self
            .front
            .schedule(consumer, &mut schedule, grant.as_deref(), 0);
        let NamedSchedule {
            route, id, pending, ..
        } = match named {
            Ok(named) => named,
            Err(refusal) => return self.refuse(to, refusal),
        };
        to.change = pending;
        to.id = Some(id.clone());
        to.route = Some(route.clone());
        schedule.id = Some(id.clone());
        schedule.route = Some(route.clone());
        let request = RouteRequest::Schedule {
            route,
            id,
            schedule,
            grant,
        };
        self.forward_request(to, request);
    }

    /// Tells the leader of a shard of a connection, if there is one.
    pub(super) fn open_at_leader(&mut self, shard: ShardId, consumer: ConsumerId) {
        let session = self.session(shard);
        if session.active().is_none() {
            return;
        }
        let lends = session.lends();
        let is_here = self.contents[shard].are_available();
        let takes_copies = is_here && !self.front.is_closing(consumer);
        let Some(is_new) = self.served.open_at(consumer, shard) else {
            return;
        };
        if lends && takes_copies {
            self.front.begin_loan_once(consumer, shard);
        }
        if is_new {
            self.send(shard, ToLeader::Opened(consumer));
            if !takes_copies {
                self.send(shard, ToLeader::Closing(consumer));
            }
        }
        self.balance(consumer);
    }

    /// The leader of a shard has answered a request. Applies or drops what it changes of its
    /// connection.
    pub(super) fn settle(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        change: Pending,
        reply: &mut Reply,
    ) {
        let route = change.route().cloned();
        let own = self.front.answered(consumer, change, reply);
        self.changed(consumer, shard, route, own);
    }

    /// The same for a request that no leader answers.
    pub(super) fn settle_unanswered(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        change: Pending,
        why: NoAnswer,
    ) {
        let route = change.route().cloned();
        let own = self.front.unanswered(consumer, change, why);
        self.changed(consumer, shard, route, own);
    }

    /// A route of a connection has changed, and perhaps its credit.
    fn changed(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        route: Option<Arc<str>>,
        own: Option<OwnRegistration>,
    ) {
        if let Some(own) = own {
            self.register_own_route(consumer, own);
        }
        // An earlier registration can have ended since the connection asked for it.
        let lends = self.session(shard).lends();
        if let Some(route) = route
            && lends
            && self.served.is_known_at(consumer, shard)
            && !self.front.is_closing(consumer)
            && self.front.has_route(consumer, &route)
        {
            self.front.begin_loan_once(consumer, shard);
        }
        self.balance(consumer);
    }

    /// The first schedule on a connection's own route is accepted, or perhaps: the connection becomes a
    /// consumer of it.
    fn register_own_route(&mut self, consumer: ConsumerId, own: OwnRegistration) {
        let OwnRegistration {
            route,
            mode,
            pending,
        } = own;
        let to = PendingRequest {
            route: Some(route.clone()),
            change: pending,
            ..PendingRequest::internal(consumer, ReplyAction::Silent)
        };
        self.forward_request(to, RouteRequest::Register { route, mode });
    }
}
