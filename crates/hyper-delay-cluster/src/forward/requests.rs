//! Requests of clients.

use std::sync::Arc;

use super::{
    Forwarder,
    connection::ServedConnection,
    leader_session::{PendingRequest, QueueableRequest, ReplyAction, TaskContents},
    wire::{ForwardedRequest, NO_ANSWER, ToLeader, UnsentReason},
};
use crate::{ShardId, shard_of};
use hyper_delay_engine::scheduler::{ClientRequest, ConsumerId, ServerInput};
use hyper_delay_protocol::{
    Accept, Code, Refusal, RegisterMode, Reply, Schedule, TaskRequest,
    access::{Denial, Grant, Right},
};

impl Forwarder {
    /// Something has happened on a connection.
    pub(super) fn handle_input(&mut self, input: ServerInput) {
        match input {
            ServerInput::Opened(consumer) => {
                let connection = ServedConnection::new(self.setup.credit);
                self.connections.insert(consumer, connection);
            }
            ServerInput::Closing(consumer) => self.closing(consumer),
            ServerInput::Closed(consumer) => self.closed(consumer),
            ServerInput::Requested(consumer, asks) => {
                for ask in asks {
                    self.handle_request(consumer, ask);
                }
            }
            ServerInput::OperatorRequested(operated) => self.forward_operator_request(*operated),
            ServerInput::TaskLookup(seen) => self.query_in_flight(seen),
            ServerInput::Future(reply_to) => self.query_forecast(reply_to),
            ServerInput::Stats(asked) => self.query_counts(asked),
            ServerInput::Settings(settings) => self.setup.configure(settings.config()),
            ServerInput::ShuttingDown => self.ending(),
            ServerInput::Unsent(copy) => self.report_unsent(copy, UnsentReason::Gone),
            ServerInput::Unwritten { copy, attempt } => {
                self.report_unsent(copy, UnsentReason::Unwritten { attempt });
            }
            ServerInput::Voided {
                copy,
                attempt,
                authority,
            } => {
                if self.has_copy_of(&copy, authority.as_ref()) {
                    self.report_unsent(copy, UnsentReason::Void { attempt });
                }
            }
            ServerInput::SentTooLate {
                copy,
                attempt,
                until,
            } => {
                self.report_unsent(copy, UnsentReason::TooLate { attempt, until });
            }
            ServerInput::Undeliverable { copy, reason } => {
                self.report_unsent(copy, UnsentReason::Undeliverable(reason));
            }
        }
    }

    /// This node ends. Its connections close one by one, and what they have in flight has not failed.
    fn ending(&mut self) {
        self.is_ending = true;
        for shard in (0..self.setup.shards).map(ShardId) {
            if self.session(shard).active().is_some() {
                self.send(shard, ToLeader::Ending);
            }
        }
    }

    fn closing(&mut self, consumer: ConsumerId) {
        if let Some(connection) = self.connections.get_mut(&consumer)
            && !connection.is_closing
        {
            connection.is_closing = true;
            for shard in connection.opened.clone() {
                self.send(shard, ToLeader::Closing(consumer));
            }
        }
    }

    fn closed(&mut self, consumer: ConsumerId) {
        self.return_waiting_copies(consumer, |_| true);
        let Some(connection) = self.connections.remove(&consumer) else {
            return;
        };
        self.routes -= connection.routes().len();
        for shard in connection.opened {
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
        let (route, id) = request.names();
        let to = PendingRequest {
            consumer,
            tag,
            weight,
            route: route.cloned(),
            id: id.cloned(),
            action: ReplyAction::Other,
        };
        match request {
            TaskRequest::Ping => self.reply(to, Reply::Pong),
            TaskRequest::Register {
                route,
                credit,
                mode,
                accept,
            } => self.register(to, route, mode, (credit, accept)),
            TaskRequest::Unregister { route } => self.unregister(to, route),
            TaskRequest::Schedule(schedule) => self.schedule(to, schedule, grant),
            TaskRequest::Ack { delivery, confirm } => self.acked(to, &delivery, confirm),
            TaskRequest::Nack {
                delivery,
                delay_ms,
                reason,
                failed,
            } => self.nacked(to, &delivery, (delay_ms, reason, failed)),
            TaskRequest::Touch {
                delivery,
                extend_ms,
            } => self.touched(to, &delivery, extend_ms),
            request @ TaskRequest::Cancel { .. } => self.forward_request(to, request, grant),
        }
    }

    /// Passes a request of a route to the leader of its shard.
    pub(super) fn forward_request(
        &mut self,
        to: PendingRequest,
        request: TaskRequest,
        grant: Option<Arc<Grant>>,
    ) {
        let shard = to.route.as_ref().map(|route| self.shard_of(route));
        let asked = Box::new(ForwardedRequest::Request(request, grant));
        self.forward(
            shard.unwrap_or_default(),
            to.consumer,
            QueueableRequest::Request(asked, to),
        );
    }

    fn register(
        &mut self,
        mut to: PendingRequest,
        route: Arc<str>,
        mode: RegisterMode,
        (credit, accept): (Option<u16>, Option<Accept>),
    ) {
        if let Some(refusal) = self.refuse_route(to.consumer, &route) {
            return self.refuse(to, refusal);
        }
        let consumer = to.consumer;
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return self.reply_or_release(to, None);
        };
        let options = connection.request_options(credit, accept);
        if connection.own_route() == Some(&route) {
            connection.keep_own_route();
        }
        let is_new = connection.add_route(&route, mode);
        self.routes += usize::from(is_new);
        self.balance(consumer);
        to.action = ReplyAction::Register {
            mode,
            is_new,
            options,
        };
        let register = TaskRequest::Register {
            route,
            credit: None,
            mode,
            accept: None,
        };
        self.forward_request(to, register, None);
    }

    /// Tells the leader of a shard of a connection, if there is one.
    pub(super) fn open_at_leader(&mut self, shard: ShardId, consumer: ConsumerId) {
        let session = self.session(shard);
        let is_here = session.contents == TaskContents::Available;
        let Some(active) = session.active() else {
            return;
        };
        let lends = active.lends;
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        if lends {
            connection.loans.open_once(shard);
        }
        if connection.opened.insert(shard) {
            self.send(shard, ToLeader::Opened(consumer));
            if !is_here {
                self.send(shard, ToLeader::Closing(consumer));
            }
        }
        self.balance(consumer);
    }

    /// The leader has registered a route, or taken a task of the connection's own one. Since the
    /// connection asked for it, an earlier registration can have ended: replaced by another
    /// connection, unregistered, or given up without a leader.
    pub(super) fn registered(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        route: &Arc<str>,
        mode: RegisterMode,
    ) {
        let active = self.session(shard).active();
        let lends = active.is_some_and(|active| active.lends);
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        if connection.own_route() == Some(route) {
            connection.keep_own_route();
        }
        if !connection.add_route(route, mode) {
            return;
        }
        self.routes += 1;
        if lends && !connection.is_closing {
            connection.loans.open_once(shard);
            self.balance(consumer);
        }
    }

    fn unregister(&mut self, to: PendingRequest, route: Arc<str>) {
        self.leave_route(to.consumer, &route);
        self.forward_request(to, TaskRequest::Unregister { route }, None);
    }

    /// A connection has a route no longer. With the last one of a shard, its leader gives back what
    /// it was lent.
    pub(super) fn leave_route(&mut self, consumer: ConsumerId, route: &str) {
        let (shard, shards) = (self.shard_of(route), self.setup.shards);
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        if !connection.remove_route(route) {
            return;
        }
        self.routes -= 1;
        let mut others = connection.routes().keys();
        if !others.any(|other| shard_of(other, shards) == shard) {
            connection.loans.retire(shard);
            self.balance(consumer);
        }
    }

    /// Refuses one more route for a connection that may have no more.
    fn refuse_route(&self, consumer: ConsumerId, route: &Arc<str>) -> Option<Refusal> {
        let connection = self.connections.get(&consumer)?;
        if connection.has_route(route) {
            return None;
        }
        let (of_one, of_all) = (connection.routes().len(), self.routes);
        let most_of_one = self.setup.max_routes_per_connection;
        let most = self.setup.max_routes;
        let message = if of_one >= most_of_one {
            format!(
                "this connection has {of_one} routes, and max_routes_per_connection is \
                 {most_of_one}: unregister some, or raise it"
            )
        } else if of_all >= most {
            format!(
                "all connections of this node have {of_all} routes, and max_routes is {most}: \
                 unregister some, or raise it"
            )
        } else {
            return None;
        };
        Some(Refusal {
            route: Some(route.clone()),
            ..Refusal::new(Code::TooManyRoutes, message)
        })
    }

    /// Passes a schedule on, with a route and an id: a client that must repeat it has both.
    fn schedule(
        &mut self,
        mut to: PendingRequest,
        mut schedule: Schedule,
        grant: Option<Arc<Grant>>,
    ) {
        let consumer = to.consumer;
        let (route, is_own) = match schedule.route.take() {
            Some(route) => (route, false),
            None => match self.route_of(consumer) {
                Some(route) => route,
                None => return self.reply_or_release(to, None),
            },
        };
        if let Some(grant) = grant.as_ref().filter(|_| !is_own)
            && !grant.allows(Right::Schedule, &route)
        {
            let missing = Denial::Missing(Right::Schedule).to_string();
            let refusal = Refusal {
                id: schedule.id,
                ..Refusal::new(Code::Forbidden, missing)
            };
            return self.refuse(to, refusal);
        }
        let new_id = || uuid::Uuid::now_v7().to_string().into();
        let id = schedule.id.get_or_insert_with(new_id).clone();
        if is_own {
            if let Some(refusal) = self.refuse_route(consumer, &route) {
                let id = Some(id);
                return self.refuse(to, Refusal { id, ..refusal });
            }
            self.bind_own(consumer, &route);
            to.action = ReplyAction::ScheduleOnOwn;
        }
        to.id = Some(id);
        to.route = Some(route.clone());
        schedule.route = Some(route);
        self.forward_request(to, TaskRequest::Schedule(schedule), grant);
    }

    /// Registers the connection's own route.
    fn bind_own(&mut self, consumer: ConsumerId, route: &Arc<str>) {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        connection.note_own_schedule();
        if connection.add_route(route, RegisterMode::Shared) {
            self.routes += 1;
            let shard = self.shard_of(route);
            self.open_at_leader(shard, consumer);
            self.send(
                shard,
                ToLeader::Bound(consumer, route.clone(), RegisterMode::Shared),
            );
        }
    }

    /// A schedule on the connection's own route is answered. A refused one has changed nothing, so its
    /// registration of that route is undone, unless another schedule rests on it.
    pub(super) fn scheduled_on_own(&mut self, consumer: ConsumerId, was_refused: bool) {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        if !connection.own_schedule_answered(was_refused) {
            return;
        }
        let Some(route) = connection.own_route().cloned() else {
            return;
        };
        let shard = self.shard_of(&route);
        self.leave_route(consumer, &route);
        if self.session(shard).active().is_some() {
            let unregister = Box::new(ForwardedRequest::Request(
                TaskRequest::Unregister { route },
                None,
            ));
            self.send(shard, ToLeader::Request(consumer, NO_ANSWER, unregister));
        }
    }

    /// Returns the route of a schedule without one: the only one that the connection has
    /// registered, or the connection's own route. The flag is true for its own route.
    fn route_of(&mut self, consumer: ConsumerId) -> Option<(Arc<str>, bool)> {
        let connection = self.connections.get_mut(&consumer)?;
        if let Some(route) = connection.only_route() {
            let is_own = connection.own_route() == Some(route);
            return Some((route.clone(), is_own));
        }
        Some((connection.make_own_route(), true))
    }
}
