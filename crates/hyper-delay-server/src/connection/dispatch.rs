//! Dispatches each request of a peer: to this task, to a read of the disk, or to the scheduler.

mod request_scope;

use std::{mem, net::SocketAddr, sync::Arc};

use tokio::sync::oneshot;

use self::request_scope::{makes_consumer, read_scope};
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
    front::{ClientRequest, ConsumerMessage, FrontInput, ReplyTo},
    ledger::Actor,
    scheduler::{ConsumerId, OperatorRequest},
};
use hyper_delay_protocol::{
    AdminRequest, Code, Line, ReadRequest, Refusal, Reply, Request, SessionRequest, TaskRequest,
    Version, access::Grant, parse, parse_strict,
};
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
    /// Whether the connection refuses fields that a request does not have, since its last `hello`.
    is_strict: bool,
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
            is_strict: false,
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

    /// Parses a line as the last `hello` before it asks.
    pub(super) fn parse(&self, line: &[u8]) -> Result<Line, Refusal> {
        match self.is_strict {
            true => parse_strict(line),
            false => parse(line),
        }
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
        let Some(grant) = self.admit(&line, weight).await else {
            return;
        };
        match line.request {
            Request::Session(SessionRequest::Hello { protocol, strict }) => {
                if self.reserve(weight).await {
                    self.is_strict = strict;
                    let version = Version::agreed(protocol);
                    self.reply(Reply::Hello { version, strict }, line.tag, weight);
                }
            }
            Request::Session(SessionRequest::Auth) => {
                Box::pin(self.authenticate(line, weight)).await;
            }
            Request::Task(request) => {
                self.warn_of_wildcard(&request);
                self.pending.push(ClientRequest {
                    tag: line.tag,
                    request,
                    weight,
                    grant,
                });
            }
            Request::Read(request) => self.read(request, line.tag, weight).await,
            Request::Admin(request) => self.pass_operator_request(request, line.tag, weight),
        }
    }

    /// Logs the registration of a route that most people mean as a prefix. It may have tasks.
    fn warn_of_wildcard(&self, request: &TaskRequest) {
        if let TaskRequest::Register { route, .. } = request
            && route.ends_with('*')
        {
            let cause = format_args!("route {route:?}, connection {}", self.id);
            self.shared.logs.warn(Warning::Wildcard, cause);
        }
    }

    /// Decides whether a request is carried out, and reserves room for it. Returns the grant of the
    /// peer, if the request is one that is decided later. A refused request is answered.
    ///
    /// Requests of the session need no right, and reserve room themselves.
    async fn admit(&mut self, line: &Line, weight: u32) -> Option<Option<Arc<Grant>>> {
        if let Request::Session(_) = line.request {
            return Some(None);
        }
        let grant = match self.authentication.authorize(line) {
            Ok(grant) => grant,
            Err(denied) => {
                Box::pin(self.deny(line, denied, weight)).await;
                return None;
            }
        };
        if self.is_reserved && makes_consumer(&line.request) {
            let refusal = refusal(line, Code::TooManyConnections, RESERVED);
            self.refuse(refusal, weight).await;
            return None;
        }
        self.reserve(weight).await.then_some(grant)
    }

    /// Answers a query.
    async fn read(&mut self, request: ReadRequest, tag: Option<Arc<str>>, weight: u32) {
        let responder = self.responder(tag, weight);
        if let Some(route) = read_scope(&request)
            && let Err(why) = self.shared.freshness.wait(route).await
        {
            let (route, id) = request.names();
            let refusal = Refusal {
                id: id.cloned(),
                route: route.cloned(),
                tag: responder.reply_to.tag.clone(),
                ..why
            };
            return responder.reply(Reply::Error(refusal));
        }
        match request {
            ReadRequest::Stats { route, after } => {
                let of = self.authentication.admin_scope();
                stats(responder, route, after, of).await;
            }
            ReadRequest::Dead {
                route,
                after,
                limit,
                filter,
                payload,
            } => {
                let request = DeadLetterRequest {
                    route,
                    after,
                    limit,
                    filter: *filter,
                    payload,
                };
                list_dead_letters(responder, request).await;
            }
            ReadRequest::Get { route, id, payload } => {
                task_queries::get(responder, route, id, payload).await;
            }
            ReadRequest::List(list) => task_queries::list(responder, *list).await,
            ReadRequest::Future => responder.pass_to_scheduler(FrontInput::Future),
            ReadRequest::Count(bulk) => operator_queries::count(responder, *bulk).await,
            ReadRequest::Reasons {
                route,
                state,
                after,
            } => {
                operator_queries::reasons(responder, route, state, after).await;
            }
            ReadRequest::Jobs => operator_queries::jobs(responder).await,
            ReadRequest::Audit { before, limit } => {
                operator_queries::audit(responder, before, limit).await;
            }
            ReadRequest::Backup { offset } => {
                let may = self.is_local || self.authentication.is_guarded();
                let piece = self.backup.piece(self.shared, may, offset).await;
                responder.respond(piece);
            }
        }
    }

    /// Passes a request of an operator to the scheduler, with its sender.
    fn pass_operator_request(&mut self, request: AdminRequest, tag: Option<Arc<str>>, weight: u32) {
        self.flush();
        let operated = OperatorRequest {
            request,
            actor: Actor {
                by: self.authentication.name(),
                address: self.address,
            },
        };
        let input = FrontInput::Operated(self.reply_to(tag, weight), Box::new(operated));
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
    async fn deny(&mut self, line: &Line, denied: AccessDenied, weight: u32) {
        self.flush();
        let message = self.authentication.denial_message(denied).await;
        let refusal = refusal(line, Code::Forbidden, &message);
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
        let input = FrontInput::Requested(self.id, pending);
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

#[cfg(test)]
mod tests;
