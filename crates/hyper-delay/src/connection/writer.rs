use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{Shared, halves::WriteHalf};
use crate::{
    authority::Authority,
    clock::nanos,
    driver::Event,
    inflate,
    ledger::View,
    log_limit::{LogLimit, Warning},
    metrics::Metrics,
    outbox::Outbox,
    protocol::{Accept, Delivery, Encoder, Reply},
    scheduler::{CopyOf, Input, Message},
    store::{ReadStore, StoreError},
    trace_context,
};

/// A connection that accepts no bytes for this time is closed.
pub(super) const STALLED: Duration = Duration::from_secs(30);

const BROKEN: &str = "it cannot be written to";
const NO_PROGRESS: &str = "it accepted no bytes for 30 seconds";

/// The approximate size of one write.
const CHUNK: usize = 64 << 10;

/// Writes until the outbox is closed and empty, and returns the reason for the end.
pub(super) async fn run<S: ReadStore>(
    shared: Arc<Shared<S>>,
    outbox: Arc<Outbox>,
    mut write: WriteHalf,
) -> &'static str {
    let mut writer = Writer {
        view: View::new(shared.store.clone()),
        metrics: &shared.metrics,
        logs: &shared.logs,
        max_line_bytes: shared.config.max_line_bytes,
        outbox: &outbox,
        encoder: Encoder::default(),
        bytes: Vec::new(),
        delivering: None,
        authorities: Vec::new(),
        now: outbox.now(),
    };
    let mut messages = Vec::new();
    loop {
        messages = match outbox.next(messages).await {
            Some(messages) => messages,
            None => {
                let _ = close(&mut write).await;
                return "everything is written";
            }
        };
        writer.now = outbox.now();
        let mut weight = 0;
        let mut left = messages.drain(..).peekable();
        while let Some(message) = left.next() {
            match writer.encode(message) {
                Ok(of_this) => weight += of_this,
                Err(error) => {
                    tracing::error!(%error, "a delivery could not be read");
                    let _ = shared.events.send(Event::Failed(error));
                    return "the store failed";
                }
            }
            if writer.bytes.len() >= CHUNK || left.peek().is_none() {
                if let Err(why) = writer.put(&mut write).await {
                    return why;
                }
                writer.bytes.clear();
                writer.delivering = None;
                writer.authorities.clear();
                writer.now = outbox.now();
                outbox.give(weight);
                weight = 0;
            }
        }
        drop(left);
        writer.bytes.shrink_to(CHUNK);
        messages.shrink_to(CHUNK / 64);
    }
}

struct Writer<'a, S> {
    view: View<S>,
    metrics: &'a Metrics,
    logs: &'a LogLimit,
    max_line_bytes: usize,
    outbox: &'a Outbox,
    encoder: Encoder,
    /// Encoded lines that are not written yet.
    bytes: Vec<u8>,
    /// The right to write deliveries, held while `bytes` can contain one.
    delivering: Option<SemaphorePermit<'a>>,
    /// The leaderships of the deliveries in `bytes`. Empty on a single node.
    authorities: Vec<Arc<Authority>>,
    /// The time when the last write ended.
    now: Tick,
}

impl<S: ReadStore> Writer<'_, S> {
    /// Writes the encoded lines, as long as the leaderships of the deliveries among them hold. A
    /// delivery can be cut where one has ended, so the connection is closed then.
    async fn put(&self, write: &mut WriteHalf) -> Result<(), &'static str> {
        let mut bytes = &*self.bytes;
        let mut stalled_since = self.outbox.now();
        while let Some(until) = self.authorities.iter().map(|it| it.until()).min() {
            let now = self.outbox.now();
            if until <= now {
                return Err("the leadership of its deliveries has ended");
            }
            let left = until.since(now).min(nanos(STALLED));
            match timeout(Duration::from_nanos(left), write.write(&mut bytes)).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => stalled_since = self.outbox.now(),
                Ok(Err(_)) => return Err(BROKEN),
                Err(_) if self.outbox.now().since(stalled_since) >= nanos(STALLED) => {
                    return Err(NO_PROGRESS);
                }
                Err(_) => {}
            }
        }
        put(write, bytes).await
    }

    /// Appends the line of a message, and returns the weight of its request.
    fn encode(&mut self, message: Message) -> Result<u32, StoreError> {
        match message {
            Message::Reply { reply, tag, weight } => {
                if let Reply::Error(refusal) = &reply {
                    self.metrics.refuse(refusal.code);
                }
                self.encoder.encode(&reply, tag.as_deref(), &mut self.bytes);
                Ok(weight)
            }
            Message::Quiet(weight) => Ok(weight),
            Message::Credit(_) => Ok(0),
            Message::Deliver {
                seq,
                route,
                id,
                attempt,
                until,
                accept,
                authority,
                ..
            } => {
                let is_void = |it: &Arc<Authority>| !it.holds(self.outbox.now());
                if authority.as_ref().is_some_and(is_void) {
                    let copy = self.outbox.copy_of(seq, id);
                    self.outbox.report(Input::Void {
                        copy,
                        attempt,
                        authority,
                    });
                } else if until <= self.now {
                    let copy = self.outbox.copy_of(seq, id);
                    self.outbox.report(Input::SentTooLate {
                        copy,
                        attempt,
                        until,
                    });
                } else if self.may_deliver() {
                    self.authorities.extend(authority.clone());
                    self.deliver((seq, attempt), (&route, id), accept, authority)?;
                }
                Ok(0)
            }
        }
    }

    /// Returns whether a delivery can be appended. Takes the right to write it.
    fn may_deliver(&mut self) -> bool {
        if self.delivering.is_none() {
            self.delivering = self.outbox.begin_deliveries();
        }
        self.delivering.is_some() && !self.outbox.is_ending()
    }

    /// Appends the line of a delivery. If the content is gone, cannot be read or cannot be
    /// decompressed, tells the scheduler that the copy was not sent.
    fn deliver(
        &mut self,
        (seq, attempt): (u64, u32),
        (route, id): (&str, Arc<str>),
        accept: Accept,
        authority: Option<Arc<Authority>>,
    ) -> Result<(), StoreError> {
        let start = self.bytes.len();
        let read = || {
            self.view.content(seq, |task| {
                let delivery = Delivery {
                    id: &id,
                    route,
                    fire_at: task.fire_at,
                    compression: task.compression,
                    payload: task.payload,
                    attempt,
                    headers: task.headers,
                };
                trace_context::log("delivery", route, &id, task.headers);
                inflate::encode(&delivery, accept, self.max_line_bytes, &mut self.bytes)
            })
        };
        // The store's library can panic on a damaged block. The panic would end this connection,
        // and every one that the task is given to later.
        let written = panic::catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Err(StoreError::damage("read", "the read has panicked")));
        if written.is_err() {
            self.bytes.truncate(start);
        }
        let copy = self.outbox.copy_of(seq, id);
        let input = match written {
            Ok(Some(Ok(()))) => {
                self.metrics.deliveries.add(1);
                return Ok(());
            }
            Ok(Some(Err(error))) => self.undeliverable(Warning::Payload, route, copy, &error),
            // The revision was removed since: by an ack, a cancel or a replacement.
            Ok(None) => Input::Unsent(copy),
            // Other nodes have it whole.
            Err(error) if error.is_damage() && authority.is_some() => {
                self.outbox.damaged(seq, error);
                Input::Void {
                    copy,
                    attempt,
                    authority,
                }
            }
            Err(error) if error.is_damage() => {
                self.undeliverable(Warning::Unreadable, route, copy, &error)
            }
            Err(error) => return Err(error),
        };
        self.outbox.report(input);
        Ok(())
    }

    /// Logs that the content of a task cannot be delivered. Returns what the scheduler is told.
    fn undeliverable(
        &self,
        warning: Warning,
        route: &str,
        copy: CopyOf,
        error: &dyn fmt::Display,
    ) -> Input {
        let (id, reason) = (&*copy.id, error.to_string());
        let cause = format!("task {id:?} on route {route:?}: {reason}");
        self.logs.warn(warning, cause);
        let reason = reason.into();
        Input::Undeliverable { copy, reason }
    }
}

/// Ends the direction to the client.
pub(super) async fn close(write: &mut WriteHalf) -> Result<(), &'static str> {
    write.announce_end();
    let announced = put(write, &[]).await;
    write.shutdown().await;
    announced
}

pub(super) async fn put(write: &mut WriteHalf, mut bytes: &[u8]) -> Result<(), &'static str> {
    loop {
        match timeout(STALLED, write.write(&mut bytes)).await {
            Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => {}
            Ok(Err(_)) => return Err(BROKEN),
            Err(_) => return Err(NO_PROGRESS),
        }
    }
}
