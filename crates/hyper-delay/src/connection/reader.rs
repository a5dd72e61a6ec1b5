use std::{
    io::{self, ErrorKind},
    mem,
    sync::Arc,
};

use tokio::{io::AsyncReadExt, net::tcp::OwnedReadHalf};

use super::{Shared, ask_disk};
use crate::{
    driver::Event,
    outbox::Outbox,
    protocol::{Code, Line, Lines, Refusal, Reply, Request, Version, parse},
    scheduler::{Ask, ConsumerId, Input, Message, ReplyTo},
    store::Store,
};

/// The connection is closed after this many consecutive errors: the peer does not speak the protocol.
const MAX_CONSECUTIVE_ERRORS: usize = 100;

/// Reads after the start of the shutdown, at most, to refuse the requests that have arrived.
const LAST_READS: usize = 16;

/// Reads until the connection ends or the server shuts down, and returns the reason for the log.
pub(super) async fn run<S: Store>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &Arc<Outbox>,
    read: &mut OwnedReadHalf,
) -> &'static str {
    let mut lines = Lines::new(shared.config.max_line_bytes);
    let mut ending = shared.ending.clone();
    let mut reader = Reader {
        shared,
        id,
        outbox,
        asks: Vec::new(),
        errors: 0,
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
                _ = ending.wait_for(|ending| *ending) => {
                    reader.over = true;
                    continue;
                }
                came = some(read, &mut lines) => came,
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
        while let Some(line) = lines.next() {
            match line {
                Ok(line) => {
                    let (weight, line) = (outbox.weight(line.len()), parse(line));
                    reader.line(line, lines.number(), weight).await;
                }
                Err(too_long) => {
                    let refusal = Refusal::new(Code::LineTooLong, too_long.to_string());
                    reader.line(Err(refusal), lines.number(), 1).await;
                }
            }
            if reader.errors == MAX_CONSECUTIVE_ERRORS {
                reader.flush();
                return "it sent 100 consecutive errors";
            }
        }
        if !reader.flush() || last_reads == LAST_READS {
            return "the server has ended";
        }
    }
}

/// Waits for bytes and reads them. The buffer is allocated after the wait.
async fn some(read: &mut OwnedReadHalf, lines: &mut Lines) -> io::Result<usize> {
    read.readable().await?;
    read.read_buf(lines.room()).await
}

fn too_late(line: &Line) -> Refusal {
    let (route, id) = line.request.names();
    Refusal {
        id: id.cloned(),
        route: route.cloned(),
        tag: line.tag.clone(),
        ..Refusal::new(
            Code::ShuttingDown,
            "the server is shutting down: send it again after the restart",
        )
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
            return self.refuse(too_late(&line), weight).await;
        }
        self.take(weight).await;
        match line.request {
            Request::Hello { protocol } => {
                let version = Version::agreed(protocol);
                self.reply(Reply::Hello(version), line.tag, weight);
            }
            Request::Stats { route, after } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                ask_disk::stats(self.shared, self.outbox, (route, after), to).await;
            }
            Request::Dead {
                route,
                after,
                limit,
            } => {
                self.flush();
                let to = self.reply_to(line.tag, weight);
                let asked = (route, after, limit);
                ask_disk::dead(self.shared, self.outbox, asked, to).await;
            }
            _ => self.asks.push(Ask { line, weight }),
        }
    }

    const fn reply_to(&self, tag: Option<Arc<str>>, weight: u32) -> ReplyTo {
        ReplyTo {
            consumer: self.id,
            tag,
            weight,
        }
    }

    async fn refuse(&mut self, refusal: Refusal, weight: u32) {
        self.take(weight).await;
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
