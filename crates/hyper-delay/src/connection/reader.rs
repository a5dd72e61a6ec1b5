use std::{mem, sync::Arc};

use tokio::net::tcp::OwnedReadHalf;

use super::{Shared, ask_disk};
use crate::{
    driver::Event,
    outbox::Outbox,
    protocol::{Code, Lines, Refusal, Reply, Request, parse},
    scheduler::{Ask, ConsumerId, Input, Message},
    store::Store,
};

/// After so many errors in a row the connection is closed: whatever is at the other end does not speak this.
const PATIENCE: usize = 100;

/// Reads until the end, and tells why that was.
pub(super) async fn run<S: Store>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &Arc<Outbox>,
    read: OwnedReadHalf,
) -> &'static str {
    let mut lines = Lines::new(shared.config.max_line_bytes);
    let mut ending = shared.ending.clone();
    let mut reader = Reader {
        shared,
        id,
        outbox,
        asks: Vec::new(),
        errors: 0,
    };
    loop {
        tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => return "the server is about to end",
            ready = read.readable() => if ready.is_err() {
                return "it cannot be read from";
            },
        }
        match read.try_read_buf(lines.room()) {
            Ok(0) => return "it was closed",
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return "it broke",
        }
        while let Some(line) = lines.next() {
            match line {
                Ok(line) => reader.line(line).await,
                Err(too_long) => {
                    let refusal = Refusal::new(Code::LineTooLong, too_long.to_string());
                    reader.refuse(refusal, 1).await;
                }
            }
            if reader.errors == PATIENCE {
                reader.flush();
                return "it made a hundred errors in a row";
            }
        }
        if !reader.flush() {
            return "the server is over";
        }
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
}

impl<S: Store> Reader<'_, S> {
    async fn line(&mut self, line: &[u8]) {
        let weight = self.outbox.weight(line.len());
        let line = match parse(line) {
            Ok(line) => line,
            Err(refusal) => return self.refuse(refusal, weight).await,
        };
        self.errors = 0;
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
        self.errors += 1;
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
