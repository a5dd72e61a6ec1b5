use std::{io::ErrorKind, mem, net::SocketAddr, sync::Arc};

use tokio::sync::{oneshot, watch};

use super::{
    Shared, Slot,
    ask_disk::{self, Letters},
    authentication::{Authentication, Denied, Over},
    backup::Backup,
    guest::Asked,
    halves::ReadHalf,
    handshake,
    idle::IdleTimer,
    look, operations,
};
use crate::{
    driver::Event,
    ledger::Actor,
    log_limit::Warning,
    outbox::Outbox,
    protocol::{Code, Line, Lines, Refusal, Reply, Request, Version, parse},
    scheduler::{Ask, ConsumerId, Input, Message, Operated, ReplyTo},
    store::Store,
};

/// The connection is closed after this many consecutive errors: the peer speaks another protocol.
const MAX_CONSECUTIVE_ERRORS: usize = 100;

/// Reads after the start of the shutdown, at most, to refuse the requests that have arrived.
const LAST_READS: usize = 16;

/// Reads until the connection ends or the server shuts down, and returns the reason for the log.
pub(super) async fn run<S: Store>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &Arc<Outbox>,
    read: &mut ReadHalf,
    (slot, certificate): (&Slot, Vec<String>),
) -> &'static str {
    let authentication = Authentication::new(shared, slot, certificate);
    let mut lines = Lines::new(authentication.longest_line());
    let mut unfinished = shared.unfinished.line_of(id);
    let mut idle = IdleTimer::start(slot.idle_timeout(&shared.config));
    let mut ending = shared.ending.clone();
    let mut reader = Reader {
        shared,
        id,
        outbox,
        asks: Vec::new(),
        errors: 0,
        is_reserved: slot.is_reserved(),
        is_local: slot.is_local(),
        authentication,
        address: read.peer_address(),
        backup: Backup::default(),
        over: false,
    };
    let mut last_reads = 0;
    loop {
        let came = if reader.over {
            last_reads += 1;
            read.try_read(&mut lines)
        } else {
            tokio::select! {
                biased;
                () = ended(&mut ending) => {
                    reader.over = true;
                    continue;
                }
                changed = reader.authentication.changed() => {
                    if let Err(over) = changed {
                        return reader.end(over);
                    }
                    lines.raise(reader.authentication.longest_line());
                    continue;
                }
                () = unfinished.evicted(), if unfinished.is_held() => {
                    // The bytes go before the wait for room.
                    drop(lines);
                    reader.refuse_unfinished().await;
                    return "the unfinished lines of all connections took too much memory";
                }
                () = idle.expired(), if idle.is_set() => {
                    if reader.is_idle().await {
                        return "it was idle";
                    }
                    idle.restart();
                    continue;
                }
                came = read.read(&mut lines) => came,
            }
        };
        match came {
            Ok(0) => return "the client closed it",
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return "the server is shutting down";
            }
            Err(_) => return "it broke",
        }
        if lines.number() == 0 && lines.first_byte() == Some(handshake::FIRST_BYTE) {
            reader.refuse(Refusal::new(Code::BadJson, NO_TLS), 1).await;
            return "it began with a TLS handshake";
        }
        let mut ended_a_line = false;
        while let Some(line) = lines.next() {
            ended_a_line = true;
            match line {
                Ok(line) => {
                    let (weight, line) = (outbox.weight(line.len()), parse(line));
                    reader.line(line, lines.number(), weight).await;
                }
                Err(too_long) => {
                    let refusal = reader.authentication.too_long(too_long);
                    reader.line(Err(refusal), lines.number(), 1).await;
                }
            }
            if let Err(over) = reader.authentication.goes_on() {
                return reader.end(over);
            }
            lines.raise(reader.authentication.longest_line());
            if reader.errors == MAX_CONSECUTIVE_ERRORS {
                reader.flush();
                return "it sent 100 consecutive errors";
            }
        }
        unfinished.hold(lines.unfinished(), ended_a_line);
        if ended_a_line {
            idle.restart();
        }
        if !reader.flush() || last_reads == LAST_READS {
            return "the server has ended";
        }
    }
}

/// Answers one request of a peer without a connection.
pub(super) async fn once<S: Store>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &Arc<Outbox>,
    asked: Asked,
) {
    let slot = Slot::of_guest(asked.address.ip());
    let mut reader = Reader {
        shared,
        id,
        outbox,
        asks: Vec::new(),
        errors: 0,
        is_reserved: false,
        is_local: slot.is_local(),
        authentication: Authentication::of_guest(shared, &slot, asked.grant),
        address: Some(asked.address),
        backup: Backup::default(),
        over: false,
    };
    reader.line(Ok(asked.line), 1, 1).await;
    reader.flush();
}

/// Waits until the server shuts down. The guard of the value must not live across an `await`.
pub(super) async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

const NO_TLS: &str = "this server does not speak TLS here, and the connection began with a \
    handshake: connect without TLS, or set `tls` in the configuration of the server";

const SHUTTING_DOWN: &str = "the server is shutting down: send it again after the restart";

const RESERVED: &str = "all max_connections are open, and this connection has a slot that is \
    reserved for operators and takes no routes: close other connections, or raise max_connections";

const UNFINISHED: &str = "the unfinished lines of all connections exceed max_unfinished_bytes, and \
    this connection has held the most for the longest: send lines whole, or raise the limit";

/// A refusal of a request that could be read.
fn refusal(line: &Line, code: Code, message: &str) -> Refusal {
    let (route, id) = line.request.names();
    Refusal {
        id: id.cloned(),
        route: route.cloned(),
        tag: line.tag.clone(),
        ..Refusal::new(code, message)
    }
}

/// Whether a request makes its connection a consumer.
const fn binds(request: &Request) -> bool {
    match request {
        Request::Register { .. } => true,
        Request::Schedule(schedule) => schedule.route.is_none(),
        _ => false,
    }
}

struct Reader<'a, S> {
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
    authentication: Authentication<'a, S>,
    /// The address of the client.
    address: Option<SocketAddr>,
    /// The backup that is under way.
    backup: Backup,
    /// Whether the server is shutting down: new requests are refused.
    over: bool,
}

impl<S: Store> Reader<'_, S> {
    async fn line(&mut self, line: Result<Line, Refusal>, number: u64, weight: u32) {
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
                self.flush();
                let to = self.reply_to(line.tag, weight);
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
                self.flush();
                let to = self.reply_to(line.tag, weight);
                let asked = Letters {
                    route,
                    after,
                    limit,
                    filter: *filter,
                    payload,
                };
                ask_disk::dead(self.shared, self.outbox, asked, to).await;
            }
            Request::Get { route, id, payload } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                look::get(self.shared, self.outbox, (route, id, payload), to).await;
            }
            Request::List(list) => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
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
                self.flush();
                let to = self.reply_to(line.tag, weight);
                operations::count(self.shared, self.outbox, *bulk, to).await;
            }
            request @ Request::Bulk(_) => self.operate(request, line.tag, weight),
            Request::Reasons { route, after } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                operations::reasons(self.shared, self.outbox, (route, after), to).await;
            }
            Request::Jobs => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                operations::jobs(self.shared, self.outbox, to).await;
            }
            Request::Audit { before, limit } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                operations::audit(self.shared, self.outbox, (before, limit), to).await;
            }
            Request::Backup { offset } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
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
    fn end(&mut self, over: Over) -> &'static str {
        self.flush();
        let refusal = Refusal::new(Code::Forbidden, over.message());
        self.reply(Reply::Error(refusal), None, 0);
        over.reason()
    }

    async fn refuse(&mut self, refusal: Refusal, weight: u32) {
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
    async fn refuse_unfinished(&mut self) {
        self.shared.logs.warn(Warning::Unfinished, self.id);
        let refusal = Refusal::new(Code::LineTooLong, UNFINISHED);
        self.refuse(refusal, 1).await;
    }

    /// Returns whether the connection has no request under way, no route and no delivery.
    async fn is_idle(&self) -> bool {
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

    fn flush(&mut self) -> bool {
        if self.asks.is_empty() {
            return true;
        }
        let asks = mem::take(&mut self.asks);
        let input = Input::Asked(self.id, asks);
        self.shared.events.send(Event::Input(input)).is_ok()
    }
}
