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
    protocol::{Code, Line, Lines, Refusal, Reply, Request, parse},
    scheduler::{Ask, ConsumerId, Input, Message, ReplyTo},
    store::Store,
};

/// After so many errors in a row the connection is closed: whatever is at the other end does not speak this.
const PATIENCE: usize = 100;

/// How often is read once the server is about to end, at most, to refuse what has come.
const LAST_READS: usize = 16;

/// Reads until the end, and tells why that was.
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
            Ok(0) => return "it was closed",
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return "the server is about to end";
            }
            Err(_) => return "it broke",
        }
        while let Some(line) = lines.next() {
            match line {
                Ok(line) => reader.line(line).await,
                Err(too_long) => {
                    let refusal = Refusal::new(Code::LineTooLong, too_long.to_string());
                    reader.errors += 1;
                    reader.refuse(refusal, 1).await;
                }
            }
            if reader.errors == PATIENCE {
                reader.flush();
                return "it made a hundred errors in a row";
            }
        }
        if !reader.flush() || last_reads == LAST_READS {
            return "the server is over";
        }
    }
}

/// Reads what there is, once there is something: who waits holds no memory for it.
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
            "the server is about to end: send it again to the next",
        )
    }
}

struct Reader<'a, S> {
    shared: &'a Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &'a Arc<Outbox>,
    /// What was read and not told to the scheduler yet.
    asks: Vec<Ask>,
    /// In a row.
    errors: usize,
    /// The server is about to end: nothing new is begun.
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
            return self.refuse(too_late(&line), weight).await;
        }
        self.take(weight).await;
        match line.request {
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
        let message = Message::Reply {
            tag: refusal.tag.clone(),
            reply: Reply::Error(refusal),
            weight,
        };
        if self.outbox.push(message) {
            self.outbox.wake();
        }
    }

    /// Takes room for a request; before waiting for it, what was read is told, so that there can be room again.
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
