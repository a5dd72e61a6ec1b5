//! Who answers each request of a peer: this task, a read of the disk, or the scheduler.

use std::{mem, net::SocketAddr, sync::Arc};

use tokio::sync::oneshot;

use super::{
    Shared, Slot,
    ask_disk::{self, Letters},
    authentication::{Authentication, Denied, Over},
    backup::Backup,
    look, operations,
};
use crate::{
    driver::Event,
    ledger::Actor,
    log_limit::Warning,
    outbox::Outbox,
    protocol::{Code, Line, Refusal, Reply, Request, Version},
    scheduler::{Ask, ConsumerId, Input, Message, Operated, ReplyTo},
    store::Store,
};

const SHUTTING_DOWN: &str = "the server is shutting down: send it again after the restart";

const RESERVED: &str = "all max_connections are open, and this connection has a slot that is \
    reserved for operators and takes no routes: close other connections, or raise max_connections";

const UNFINISHED: &str = "the unfinished lines of all connections exceed max_unfinished_bytes, and \
    this connection has held the most for the longest: send lines whole, or raise the limit";

/// The requests of a peer: answers each, or passes it to the scheduler.
pub(super) struct Requests<'a, S> {
    shared: &'a Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &'a Arc<Outbox>,
    /// Requests that the scheduler has not received yet.
    asks: Vec<Ask>,
    /// Consecutive errors.
    errors: usize,
    /// Whether the connection has a slot that is kept for operators.
    is_reserved: bool,
    /// Whether the connection comes from this machine.
    is_local: bool,
    /// What the connection may do.
    pub(super) authentication: Authentication<'a, S>,
    /// The address of the client.
    address: Option<SocketAddr>,
    /// The backup that is under way.
    backup: Backup,
    /// Whether the server is shutting down: new requests are refused.
    pub(super) over: bool,
}

impl<'a, S: Store> Requests<'a, S> {
    /// Starts with the first request of the peer that has `slot`.
    pub(super) fn new(
        shared: &'a Arc<Shared<S>>,
        (id, outbox): (ConsumerId, &'a Arc<Outbox>),
        authentication: Authentication<'a, S>,
        slot: &Slot,
        address: Option<SocketAddr>,
    ) -> Self {
        Self {
            shared,
            id,
            outbox,
            asks: Vec::new(),
            errors: 0,
            is_reserved: slot.is_reserved(),
            is_local: slot.is_local(),
            authentication,
            address,
            backup: Backup::default(),
            over: false,
        }
    }

    /// Returns the number of lines without a request since the last one with a request.
    pub(super) const fn consecutive_errors(&self) -> usize {
        self.errors
    }

    /// Answers a line, or passes it on with the next [`flush`](Self::flush).
    pub(super) async fn line(&mut self, line: Result<Line, Refusal>, number: u64, weight: u32) {
        let line = match line {
            Ok(line) => line,
            Err(refusal) => {
                self.errors += 1;
                return self.refuse(refusal.at_line(number), weight).await;
            }
        };
        self.errors = 0;
        if self.over {
            let refusal = refusal(&line, Code::ShuttingDown, SHUTTING_DOWN);
            return self.refuse(refusal, weight).await;
        }
        if let Request::Auth = line.request {
            return Box::pin(self.authenticate(line, weight)).await;
        }
        let grant = match self.authentication.admit(&line) {
            Ok(grant) => grant,
            Err(denied) => return Box::pin(self.deny(line, denied, weight)).await,
        };
        if self.is_reserved && binds(&line.request) {
            let refusal = refusal(&line, Code::TooManyConnections, RESERVED);
            return self.refuse(refusal, weight).await;
        }
        if !self.take(weight).await {
            return;
        }
        match line.request {
            Request::Hello { protocol } => {
                let version = Version::agreed(protocol);
                self.reply(Reply::Hello(version), line.tag, weight);
            }
            Request::Stats { route, after } => {
                let to = self.flush_for(line.tag, weight);
                let of = self.authentication.administers();
                ask_disk::stats(self.shared, self.outbox, (route, after), of, to).await;
            }
            Request::Dead {
                route,
                after,
                limit,
                filter,
                payload,
            } => {
                let to = self.flush_for(line.tag, weight);
                let asked = Letters {
                    route,
                    after,
                    limit,
                    filter,
                    payload,
                };
                ask_disk::dead(self.shared, self.outbox, asked, to).await;
            }
            Request::Get { route, id, payload } => {
                let to = self.flush_for(line.tag, weight);
                look::get(self.shared, self.outbox, (route, id, payload), to).await;
            }
            Request::List(list) => {
                let to = self.flush_for(line.tag, weight);
                look::list(self.shared, self.outbox, *list, to).await;
            }
            Request::Future => {
                let now = self.shared.clock.now().wall_millis();
                let future = self.shared.metrics.forecast.read(now);
                self.reply(Reply::Future(Box::new(future)), line.tag, weight);
            }
            request @ (Request::Kick { .. }
            | Request::Delete { .. }
            | Request::Pause { .. }
            | Request::Resume { .. }
            | Request::Stop { .. }) => self.operate(request, line.tag, weight),
            Request::Bulk(bulk) if bulk.dry_run => {
                let to = self.flush_for(line.tag, weight);
                operations::count(self.shared, self.outbox, *bulk, to).await;
            }
            request @ Request::Bulk(_) => self.operate(request, line.tag, weight),
            Request::Reasons { route, after } => {
                let to = self.flush_for(line.tag, weight);
                operations::reasons(self.shared, self.outbox, (route, after), to).await;
            }
            Request::Jobs => {
                let to = self.flush_for(line.tag, weight);
                operations::jobs(self.shared, self.outbox, to).await;
            }
            Request::Audit { before, limit } => {
                let to = self.flush_for(line.tag, weight);
                operations::audit(self.shared, self.outbox, (before, limit), to).await;
            }
            Request::Backup { offset } => {
                let to = self.flush_for(line.tag, weight);
                let may = self.is_local || self.authentication.is_guarded();
                let asked = self.backup.piece(self.shared, may, offset).await;
                ask_disk::answer(self.shared, self.outbox, to, asked);
            }
            _ => self.asks.push(Ask {
                line,
                weight,
                grant,
            }),
        }
    }

    /// Passes a request of an operator on, with who sent it.
    fn operate(&mut self, request: Request, tag: Option<Arc<str>>, weight: u32) {
        let reply_to = self.flush_for(tag, weight);
        let operated = Operated {
            request,
            actor: Actor {
                by: self.authentication.name(),
                address: self.address,
            },
            reply_to,
        };
        let input = Input::Operated(Box::new(operated));
        let _ = self.shared.events.send(Event::Input(input));
    }

    /// Flushes, so that a request follows those before it. Returns where its reply goes.
    fn flush_for(&mut self, tag: Option<Arc<str>>, weight: u32) -> ReplyTo {
        self.flush();
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
                if self.take(weight).await {
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
    async fn deny(&mut self, line: Line, denied: Denied, weight: u32) {
        self.flush();
        let message = self.authentication.wait(denied).await;
        let refusal = refusal(&line, Code::Forbidden, &message);
        self.refuse(refusal, weight).await;
    }

    /// Tells the peer why its connection is closed, without a wait for room. Returns the reason for
    /// the log.
    pub(super) fn end(&mut self, over: Over) -> &'static str {
        self.flush();
        let refusal = Refusal::new(Code::Forbidden, over.message());
        self.reply(Reply::Error(refusal), None, 0);
        over.reason()
    }

    pub(super) async fn refuse(&mut self, refusal: Refusal, weight: u32) {
        if !self.take(weight).await {
            return;
        }
        let tag = refusal.tag.clone();
        self.reply(Reply::Error(refusal), tag, weight);
    }

    /// Sends a reply that the scheduler has no part in.
    fn reply(&self, reply: Reply, tag: Option<Arc<str>>, weight: u32) {
        let message = Message::Reply { reply, tag, weight };
        if self.outbox.push(message) {
            self.outbox.wake();
        }
    }

    /// Tells the peer why its connection is closed.
    pub(super) async fn refuse_unfinished(&mut self) {
        self.shared.logs.warn(Warning::Unfinished, self.id);
        let refusal = Refusal::new(Code::LineTooLong, UNFINISHED);
        self.refuse(refusal, 1).await;
    }

    /// Returns whether the connection has no request under way, no route and no delivery.
    pub(super) async fn is_idle(&self) -> bool {
        let (tell, told) = oneshot::channel();
        let ask = Event::IsIdle(self.id, tell);
        self.outbox.is_answered()
            && self.shared.events.send(ask).is_ok()
            && told.await.unwrap_or(false)
    }

    /// Reserves room for a request. Flushes before it waits, so that replies can free room. Returns
    /// false if the rights of the connection have changed meanwhile and it must end.
    async fn take(&mut self, weight: u32) -> bool {
        if self.outbox.try_take(weight) {
            return true;
        }
        self.flush();
        loop {
            tokio::select! {
                biased;
                () = self.outbox.take(weight) => return true,
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
        if self.asks.is_empty() {
            return true;
        }
        let asks = mem::take(&mut self.asks);
        let input = Input::Asked(self.id, asks);
        self.shared.events.send(Event::Input(input)).is_ok()
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

/// Returns whether a request makes its connection a consumer.
const fn binds(request: &Request) -> bool {
    match request {
        Request::Register { .. } => true,
        Request::Schedule(schedule) => schedule.route.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
