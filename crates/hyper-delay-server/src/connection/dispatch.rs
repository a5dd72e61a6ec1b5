//! Dispatches each request of a peer: to this task, to a read of the disk, or to the scheduler.

use std::{mem, net::SocketAddr, sync::Arc};

use tokio::sync::oneshot;

use super::{
    ConnectionContext, Slot,
    authentication::{AccessDenied, Authentication, CloseReason},
    backup::BackupSession,
    dead_letters::{DeadLetterRequest, list_dead_letters},
    operator_queries,
    responder::Responder,
    stats::stats,
    task_queries,
};
use crate::{driver::ServerEvent, log_limit::Warning, outbox::ConnectionOutbox};
use hyper_delay_engine::{
    ledger::Actor,
    scheduler::{
        ClientRequest, ConsumerId, ConsumerMessage, OperatorRequest, ReplyTo, SchedulerInput,
    },
};
use hyper_delay_protocol::{Code, Line, Refusal, Reply, Request, Version};
use hyper_delay_store::ReadStore;

const SHUTTING_DOWN: &str = "the server is shutting down: send it again after the restart";

const RESERVED: &str = "all max_connections are open, and this connection has a slot that is \
    reserved for operators and takes no routes: close other connections, or raise max_connections";

const UNFINISHED: &str = "the unfinished lines of all connections exceed max_unfinished_bytes, and \
    this connection has held the most for the longest: send lines whole, or raise the limit";

/// The requests of a peer: answers each, or passes it to the scheduler.
pub(super) struct RequestDispatcher<'a, S> {
    shared: &'a Arc<ConnectionContext<S>>,
    id: ConsumerId,
    outbox: &'a Arc<ConnectionOutbox>,
    /// Requests that the scheduler has not received yet.
    pending: Vec<ClientRequest>,
    /// Consecutive errors.
    errors: usize,
    /// Whether the connection has a slot that is kept for operators.
    is_reserved: bool,
    /// Whether the connection comes from this machine.
    is_local: bool,
    /// The rights of the connection.
    pub(super) authentication: Authentication<'a, S>,
    /// The address of the client.
    address: Option<SocketAddr>,
    /// The backup that the connection makes.
    backup: BackupSession,
    /// Whether the server is shutting down: new requests are refused.
    pub(super) is_ending: bool,
}

impl<'a, S: ReadStore> RequestDispatcher<'a, S> {
    /// Begins the requests of the peer that holds `slot`.
    pub(super) fn new(
        shared: &'a Arc<ConnectionContext<S>>,
        (id, outbox): (ConsumerId, &'a Arc<ConnectionOutbox>),
        authentication: Authentication<'a, S>,
        slot: &Slot,
        address: Option<SocketAddr>,
    ) -> Self {
        Self {
            shared,
            id,
            outbox,
            pending: Vec::new(),
            errors: 0,
            is_reserved: slot.is_reserved(),
            is_local: slot.is_local(),
            authentication,
            address,
            backup: BackupSession::default(),
            is_ending: false,
        }
    }

    /// Returns the number of lines without a request since the last one with a request.
    pub(super) const fn consecutive_errors(&self) -> usize {
        self.errors
    }

    /// Answers a line, or passes it on with the next [`flush`](Self::flush).
    pub(super) async fn dispatch(&mut self, line: Result<Line, Refusal>, number: u64, weight: u32) {
        let line = match line {
            Ok(line) => line,
            Err(refusal) => {
                self.errors += 1;
                return self.refuse(refusal.at_line(number), weight).await;
            }
        };
        self.errors = 0;
        if self.is_ending {
            let refusal = refusal(&line, Code::ShuttingDown, SHUTTING_DOWN);
            return self.refuse(refusal, weight).await;
        }
        if let Request::Auth = line.request {
            return Box::pin(self.authenticate(line, weight)).await;
        }
        let grant = match self.authentication.authorize(&line) {
            Ok(grant) => grant,
            Err(denied) => return Box::pin(self.deny(line, denied, weight)).await,
        };
        if self.is_reserved && makes_consumer(&line.request) {
            let refusal = refusal(&line, Code::TooManyConnections, RESERVED);
            return self.refuse(refusal, weight).await;
        }
        if !self.reserve(weight).await {
            return;
        }
        if let Some(route) = read_scope(&line.request) {
            self.flush();
            if let Err(why) = self.shared.freshness.wait(route).await {
                let refusal = refusal(&line, why.code, &why.message);
                return self.reply(Reply::Error(refusal), line.tag, weight);
            }
        }
        match line.request {
            Request::Hello { protocol } => {
                let version = Version::agreed(protocol);
                self.reply(Reply::Hello(version), line.tag, weight);
            }
            Request::Stats { route, after } => {
                let responder = self.responder(line.tag, weight);
                let of = self.authentication.admin_scope();
                stats(responder, route, after, of).await;
            }
            Request::Dead {
                route,
                after,
                limit,
                filter,
                payload,
            } => {
                let responder = self.responder(line.tag, weight);
                let request = DeadLetterRequest {
                    route,
                    after,
                    limit,
                    filter: *filter,
                    payload,
                };
                list_dead_letters(responder, request).await;
            }
            Request::Get { route, id, payload } => {
                let responder = self.responder(line.tag, weight);
                task_queries::get(responder, route, id, payload).await;
            }
            Request::List(list) => {
                let responder = self.responder(line.tag, weight);
                task_queries::list(responder, *list).await;
            }
            Request::Future => {
                let responder = self.responder(line.tag, weight);
                responder.pass_to_scheduler(SchedulerInput::Future);
            }
            request @ (Request::Kick { .. }
            | Request::Delete { .. }
            | Request::Pause { .. }
            | Request::Resume { .. }
            | Request::Stop { .. }) => self.pass_operator_request(request, line.tag, weight),
            Request::Bulk(bulk) if bulk.dry_run => {
                let responder = self.responder(line.tag, weight);
                operator_queries::count(responder, *bulk).await;
            }
            request @ Request::Bulk(_) => self.pass_operator_request(request, line.tag, weight),
            Request::Reasons { route, after } => {
                let responder = self.responder(line.tag, weight);
                operator_queries::reasons(responder, route, after).await;
            }
            Request::Jobs => {
                let responder = self.responder(line.tag, weight);
                operator_queries::jobs(responder).await;
            }
            Request::Audit { before, limit } => {
                let responder = self.responder(line.tag, weight);
                operator_queries::audit(responder, before, limit).await;
            }
            Request::Backup { offset } => {
                let responder = self.responder(line.tag, weight);
                let may = self.is_local || self.authentication.is_guarded();
                let piece = self.backup.piece(self.shared, may, offset).await;
                responder.respond(piece);
            }
            _ => self.pending.push(ClientRequest {
                line,
                weight,
                grant,
            }),
        }
    }

    /// Passes a request of an operator to the scheduler, with its sender.
    fn pass_operator_request(&mut self, request: Request, tag: Option<Arc<str>>, weight: u32) {
        self.flush();
        let operated = OperatorRequest {
            request,
            actor: Actor {
                by: self.authentication.name(),
                address: self.address,
            },
            reply_to: self.reply_to(tag, weight),
        };
        let input = SchedulerInput::OperatorRequested(Box::new(operated));
        let _ = self.shared.events.send(ServerEvent::Input(input));
    }

    /// Flushes, so that a request follows those before it. Returns its sender.
    fn responder(&mut self, tag: Option<Arc<str>>, weight: u32) -> Responder<'a, S> {
        self.flush();
        Responder {
            shared: self.shared,
            outbox: self.outbox,
            reply_to: self.reply_to(tag, weight),
        }
    }

    const fn reply_to(&self, tag: Option<Arc<str>>, weight: u32) -> ReplyTo {
        ReplyTo {
            consumer: self.id,
            tag,
            weight,
        }
    }

    /// Answers an `auth`.
    async fn authenticate(&mut self, line: Line, weight: u32) {
        self.flush();
        match self.authentication.authenticate(&line).await {
            Ok(name) => {
                if self.reserve(weight).await {
                    self.reply(Reply::Authenticated { name }, line.tag, weight);
                }
            }
            Err(message) => {
                let refusal = refusal(&line, Code::Forbidden, message);
                self.refuse(refusal, weight).await;
            }
        }
    }

    /// Refuses a request for which the connection has no right.
    async fn deny(&mut self, line: Line, denied: AccessDenied, weight: u32) {
        self.flush();
        let message = self.authentication.denial_message(denied).await;
        let refusal = refusal(&line, Code::Forbidden, &message);
        self.refuse(refusal, weight).await;
    }

    /// Sends the reason for closing to the peer, without a wait for room. Returns the reason for
    /// the log.
    pub(super) fn close_with(&mut self, reason: CloseReason) -> &'static str {
        self.flush();
        let refusal = Refusal::new(Code::Forbidden, reason.message());
        self.reply(Reply::Error(refusal), None, 0);
        reason.reason()
    }

    pub(super) async fn refuse(&mut self, refusal: Refusal, weight: u32) {
        if !self.reserve(weight).await {
            return;
        }
        let tag = refusal.tag.clone();
        self.reply(Reply::Error(refusal), tag, weight);
    }

    /// Sends a reply without the scheduler.
    fn reply(&self, reply: Reply, tag: Option<Arc<str>>, weight: u32) {
        let message = ConsumerMessage::Reply { reply, tag, weight };
        if self.outbox.push(message) {
            self.outbox.wake();
        }
    }

    /// Sends the reason for closing to the peer.
    pub(super) async fn refuse_unfinished(&mut self) {
        self.shared.logs.warn(Warning::Unfinished, self.id);
        let refusal = Refusal::new(Code::LineTooLong, UNFINISHED);
        self.refuse(refusal, 1).await;
    }

    /// Returns whether the connection has no request in flight, no route and no delivery.
    pub(super) async fn is_idle(&self) -> bool {
        let (sender, answer) = oneshot::channel();
        let event = ServerEvent::IsIdle(self.id, sender);
        self.outbox.is_answered()
            && self.shared.events.send(event).is_ok()
            && answer.await.unwrap_or(false)
    }

    /// Reserves room for a request. Flushes before it waits, so that replies can free room. Returns
    /// false if the rights of the connection have changed meanwhile and it must end.
    async fn reserve(&mut self, weight: u32) -> bool {
        if self.outbox.try_reserve(weight) {
            return true;
        }
        self.flush();
        loop {
            tokio::select! {
                biased;
                () = self.outbox.reserve(weight) => return true,
                changed = self.authentication.changed() => {
                    if changed.is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// Passes the requests so far to the scheduler. Returns false if the server has ended.
    pub(super) fn flush(&mut self) -> bool {
        if self.pending.is_empty() {
            return true;
        }
        let pending = mem::take(&mut self.pending);
        let input = SchedulerInput::Requested(self.id, pending);
        self.shared.events.send(ServerEvent::Input(input)).is_ok()
    }
}

/// Returns the refusal of a request that could be read.
fn refusal(line: &Line, code: Code, message: &str) -> Refusal {
    let (route, id) = line.request.names();
    Refusal {
        id: id.cloned(),
        route: route.cloned(),
        tag: line.tag.clone(),
        ..Refusal::new(code, message)
    }
}

/// Returns the route whose stored tasks a reply is read from, `None` for all, if it is read.
fn read_scope(request: &Request) -> Option<Option<Arc<str>>> {
    match request {
        Request::Reasons { route, .. } => Some(route.clone()),
        Request::List(list) => Some(list.route.clone()),
        Request::Dead { route, .. } | Request::Get { route, .. } => Some(Some(route.clone())),
        Request::Bulk(bulk) if bulk.dry_run => Some(Some(bulk.route.clone())),
        // A backup is read at its first piece.
        Request::Backup { offset: 0 } | Request::Jobs | Request::Audit { .. } => Some(None),
        // With a route, too, the sums are of all.
        Request::Stats { .. } => Some(None),
        _ => None,
    }
}

/// Returns whether a request makes its connection a consumer.
const fn makes_consumer(request: &Request) -> bool {
    match request {
        Request::Register { .. } => true,
        Request::Schedule(schedule) => schedule.route.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
