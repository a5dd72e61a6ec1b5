//! Who answers each request of a peer: this task, a read of the disk, or the scheduler.

use std::{mem, net::SocketAddr, sync::Arc};

use tokio::sync::oneshot;

use super::{
    Shared, Slot,
    asker::Asker,
    authentication::{Authentication, Denied, Over},
    backup::Backup,
    dead::{Letters, dead},
    look, operations,
    stats::stats,
};
use crate::{driver::Event, log_limit::Warning, outbox::Outbox};
use hyper_delay_engine::{
    ledger::Actor,
    scheduler::{Ask, ConsumerId, Input, Message, Operated, ReplyTo},
};
use hyper_delay_protocol::{Code, Line, Refusal, Reply, Request, Version};
use hyper_delay_store::ReadStore;

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
    pub(super) is_ending: bool,
}

impl<'a, S: ReadStore> Requests<'a, S> {
    /// Begins the requests of the peer that holds `slot`.
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
            is_ending: false,
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
        if self.is_ending {
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
        if let Some(route) = reads(&line.request) {
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
                let asker = self.asker(line.tag, weight);
                let of = self.authentication.administers();
                stats(asker, (route, after), of).await;
            }
            Request::Dead {
                route,
                after,
                limit,
                filter,
                payload,
            } => {
                let asker = self.asker(line.tag, weight);
                let asked = Letters {
                    route,
                    after,
                    limit,
                    filter: *filter,
                    payload,
                };
                dead(asker, asked).await;
            }
            Request::Get { route, id, payload } => {
                let asker = self.asker(line.tag, weight);
                look::get(asker, (route, id, payload)).await;
            }
            Request::List(list) => {
                let asker = self.asker(line.tag, weight);
                look::list(asker, *list).await;
            }
            Request::Future => {
                let asker = self.asker(line.tag, weight);
                asker.pass(Input::Future);
            }
            request @ (Request::Kick { .. }
            | Request::Delete { .. }
            | Request::Pause { .. }
            | Request::Resume { .. }
            | Request::Stop { .. }) => self.operate(request, line.tag, weight),
            Request::Bulk(bulk) if bulk.dry_run => {
                let asker = self.asker(line.tag, weight);
                operations::count(asker, *bulk).await;
            }
            request @ Request::Bulk(_) => self.operate(request, line.tag, weight),
            Request::Reasons { route, after } => {
                let asker = self.asker(line.tag, weight);
                operations::reasons(asker, (route, after)).await;
            }
            Request::Jobs => {
                let asker = self.asker(line.tag, weight);
                operations::jobs(asker).await;
            }
            Request::Audit { before, limit } => {
                let asker = self.asker(line.tag, weight);
                operations::audit(asker, (before, limit)).await;
            }
            Request::Backup { offset } => {
                let asker = self.asker(line.tag, weight);
                let may = self.is_local || self.authentication.is_guarded();
                let asked = self.backup.piece(self.shared, may, offset).await;
                asker.answer(asked);
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
        self.flush();
        let operated = Operated {
            request,
            actor: Actor {
                by: self.authentication.name(),
                address: self.address,
            },
            reply_to: self.reply_to(tag, weight),
        };
        let input = Input::Operated(Box::new(operated));
        let _ = self.shared.events.send(Event::Input(input));
    }

    /// Flushes, so that a request follows those before it. Returns its sender.
    fn asker(&mut self, tag: Option<Arc<str>>, weight: u32) -> Asker<'a, S> {
        self.flush();
        Asker {
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

/// Returns which route the reply to a request is read from the store of, if it is: `None` for all.
fn reads(request: &Request) -> Option<Option<Arc<str>>> {
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
const fn binds(request: &Request) -> bool {
    match request {
        Request::Register { .. } => true,
        Request::Schedule(schedule) => schedule.route.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
