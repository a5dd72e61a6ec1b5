use std::{
    io::{self, ErrorKind},
    mem,
    sync::Arc,
};

use tokio::{
    io::AsyncReadExt,
    net::tcp::OwnedReadHalf,
    sync::{oneshot, watch},
};

use super::{Shared, Slot, ask_disk, idle::IdleTimer};
use crate::{
    driver::Event,
    log_limit::Warning,
    outbox::Outbox,
    protocol::{Code, Line, Lines, Refusal, Reply, Request, parse},
    scheduler::{Ask, ConsumerId, Input, Message},
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
    read: &mut OwnedReadHalf,
    slot: &Slot,
) -> &'static str {
    let mut lines = Lines::new(shared.config.max_line_bytes);
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
        over: false,
    };
    let mut last_reads = 0;
    loop {
        let came = if reader.over {
            last_reads += 1;
            read.try_read_buf(lines.room())
        } else {
            tokio::select! {
                biased;
                () = ended(&mut ending) => {
                    reader.over = true;
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
                came = some(read, &mut lines) => came,
            }
        };
        match came {
            Ok(0) => return "it was closed",
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return "the server is about to end";
            }
            Err(_) => return "it broke",
        }
        let mut ended_a_line = false;
        while let Some(line) = lines.next() {
            ended_a_line = true;
            match line {
                Ok(line) => reader.line(line).await,
                Err(too_long) => {
                    let refusal = Refusal::new(Code::LineTooLong, too_long.to_string());
                    reader.errors += 1;
                    reader.refuse(refusal, 1).await;
                }
            }
            if reader.errors == MAX_CONSECUTIVE_ERRORS {
                reader.flush();
                return "it made a hundred errors in a row";
            }
        }
        unfinished.hold(lines.unfinished(), ended_a_line);
        if ended_a_line {
            idle.restart();
        }
        if !reader.flush() || last_reads == LAST_READS {
            return "the server is over";
        }
    }
}

/// Waits until the server shuts down. The guard of the value must not live across an `await`.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

/// Waits for bytes and reads them. The buffer is allocated after the wait.
async fn some(read: &mut OwnedReadHalf, lines: &mut Lines) -> io::Result<usize> {
    read.readable().await?;
    read.read_buf(lines.room()).await
}

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
    /// Whether the server is shutting down: new requests are refused.
    over: bool,
}

impl<S: Store> Reader<'_, S> {
    async fn line(&mut self, line: &[u8]) {
        let weight = self.outbox.weight(line.len());
        let line = match parse(line) {
            Ok(line) => line,
            Err(refusal) => {
                self.errors += 1;
                return self.refuse(refusal, weight).await;
            }
        };
        self.errors = 0;
        if self.over {
            let refusal = refusal(&line, Code::ShuttingDown, SHUTTING_DOWN);
            return self.refuse(refusal, weight).await;
        }
        if self.is_reserved && binds(&line.request) {
            let refusal = refusal(&line, Code::TooManyConnections, RESERVED);
            return self.refuse(refusal, weight).await;
        }
        self.take(weight).await;
        match line.request {
            Request::Stats { route, after } => {
                self.flush();
                ask_disk::stats(
                    self.shared,
                    self.id,
                    self.outbox,
                    (route, after),
                    line.tag,
                    weight,
                )
                .await;
            }
            Request::Dead {
                route,
                after,
                limit,
            } => {
                self.flush();
                ask_disk::dead(
                    self.shared,
                    self.outbox,
                    (route, after, limit),
                    line.tag,
                    weight,
                )
                .await;
            }
            _ => self.asks.push(Ask { line, weight }),
        }
    }

    async fn refuse(&mut self, refusal: Refusal, weight: u32) {
        self.take(weight).await;
        let message = Message::Reply {
            tag: refusal.tag.clone(),
            reply: Reply::Error(refusal),
            weight,
        };
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

    /// Reserves room for a request. Flushes before it waits, so that replies can free room.
    async fn take(&mut self, weight: u32) {
        if !self.outbox.try_take(weight) {
            self.flush();
            self.outbox.take(weight).await;
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
