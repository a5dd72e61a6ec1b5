mod chunk;

use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;
use tokio::{sync::SemaphorePermit, time::timeout};

use self::chunk::{Chunk, EncodedDelivery};
use super::{ConnectionContext, stream_halves::WriteHalf};
use crate::{
    driver::ServerEvent,
    log_limit::{LogLimit, Warning},
    outbox::ConnectionOutbox,
    replica_events::{ReplicaEvent, ReplicaEventSender},
};
use hyper_delay_engine::{
    authority::Authority,
    clock::nanos,
    front::{ConsumerMessage, FrontInput},
    ledger::LedgerView,
    metrics::Metrics,
    scheduler::{CopyId, UnsentReason},
};
use hyper_delay_protocol::{self, Accept, Encoder, Reply, inflate, trace_context};
use hyper_delay_store::{ReadStore, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::writer";

/// A connection that accepts no bytes for this time is closed.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(30);

const BROKEN: &str = "it cannot be written to";
const NO_PROGRESS: &str = "it accepted no bytes for 30 seconds";

/// The approximate size of one write.
const CHUNK: usize = 64 << 10;

/// The minimum and the maximum time between two checks for late deliveries, while a connection
/// takes few bytes.
const LATE_CHECK_INTERVAL: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_millis(100));

/// Writes until the outbox is closed and empty, and returns the reason for the end. Deliveries that
/// it has taken and not written then, or when it is dropped, go
/// [back](ConnectionOutbox::add_unwritten) to the outbox.
pub(super) async fn run<S: ReadStore>(
    shared: Arc<ConnectionContext<S>>,
    outbox: Arc<ConnectionOutbox>,
    mut write: WriteHalf,
) -> &'static str {
    let mut writer = ConnectionWriter {
        view: LedgerView::new(shared.store.clone()),
        metrics: &shared.metrics,
        logs: &shared.logs,
        replicas: shared.freshness.replicas(),
        max_line_bytes: shared.config.max_line_bytes,
        outbox: &outbox,
        encoder: Encoder::default(),
        chunk: Chunk::default(),
        delivering: None,
        now: outbox.now(),
    };
    while outbox.next_batch().await {
        let mut has_more = true;
        while has_more {
            writer.now = outbox.now();
            let weight;
            (weight, has_more) = match writer.fill() {
                Ok(filled) => filled,
                Err(error) => {
                    tracing::error!(target: TARGET, %error, "a delivery could not be read");
                    let _ = shared.events.send(ServerEvent::Failed(error));
                    return "the store failed";
                }
            };
            if let Err(why) = writer.write_chunk(&mut write).await {
                return why;
            }
            writer.count_written();
            writer.chunk.clear();
            writer.delivering = None;
            outbox.release(weight);
        }
        writer.chunk.bytes.shrink_to(CHUNK);
    }
    let _ = close(&mut write).await;
    "everything is written"
}

struct ConnectionWriter<'a, S> {
    view: LedgerView<S>,
    metrics: &'a Metrics,
    logs: &'a LogLimit,
    /// `None`: the store is the only one.
    replicas: Option<&'a ReplicaEventSender>,
    max_line_bytes: usize,
    outbox: &'a ConnectionOutbox,
    encoder: Encoder,
    /// Encoded lines that are not written yet.
    chunk: Chunk,
    /// The right to write deliveries, held while the chunk can contain one.
    delivering: Option<SemaphorePermit<'a>>,
    /// The time when the last write ended.
    now: Tick,
}

impl<S> ConnectionWriter<'_, S> {
    /// Counts the deliveries of which something is written.
    fn count_written(&self) {
        self.metrics
            .deliveries
            .add(self.chunk.count_started() as u64);
    }
}

/// The deliveries of which nothing was written go back.
impl<S> Drop for ConnectionWriter<'_, S> {
    fn drop(&mut self) {
        self.count_written();
        for EncodedDelivery { copy, attempt, .. } in self.chunk.take_unwritten() {
            self.outbox.add_unwritten(copy, attempt);
        }
    }
}

impl<S: ReadStore> ConnectionWriter<'_, S> {
    /// Encodes about a chunk of messages of the outbox. Returns the weight of its requests, and
    /// whether there is more.
    fn fill(&mut self) -> Result<(u32, bool), StoreError> {
        let mut weight = 0;
        let outbox = self.outbox;
        let mut batch = outbox.batch();
        while self.chunk.bytes.len() < CHUNK
            && let Some(message) = batch.pop_front()
        {
            weight += self.encode(message)?;
        }
        let has_more = !batch.is_empty();
        if !has_more {
            batch.shrink_to(CHUNK / 64);
        }
        Ok((weight, has_more))
    }

    /// Writes the encoded lines, as long as the leaderships of the deliveries among them hold. A
    /// delivery can be cut where one has ended, so the connection is closed then.
    async fn write_chunk(&mut self, write: &mut WriteHalf) -> Result<(), &'static str> {
        let mut stalled_since = self.outbox.now();
        let mut next_check = stalled_since + nanos(LATE_CHECK_INTERVAL.0);
        loop {
            let now = self.outbox.now();
            if now >= next_check {
                next_check = now + nanos(self.drop_late(now));
            }
            let ends = self.chunk.first_authority_end();
            if ends.is_some_and(|until| until <= now) {
                return Err("the leadership of its deliveries has ended");
            }
            let wait = ends
                .map_or(next_check, |until| until.min(next_check))
                .since(now);
            let mut bytes = self.chunk.unwritten();
            let written = timeout(Duration::from_nanos(wait), write.write(&mut bytes)).await;
            let unwritten = bytes.len();
            self.chunk.set_unwritten(unwritten);
            match written {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => stalled_since = self.outbox.now(),
                Ok(Err(_)) => return Err(BROKEN),
                Err(_) if self.outbox.now().since(stalled_since) >= nanos(STALL_TIMEOUT) => {
                    return Err(NO_PROGRESS);
                }
                Err(_) => {}
            }
        }
    }

    /// The connection takes few bytes: what is late by now is not written any more. Returns when to
    /// look again.
    fn drop_late(&mut self, now: Tick) -> Duration {
        let (late, next) = self.chunk.take_late(now);
        for EncodedDelivery {
            copy,
            attempt,
            until,
            ..
        } in late
        {
            self.outbox.report_too_late(copy, attempt, until);
        }
        let next = next.into_iter().chain(self.outbox.drop_late_now(now)).min();
        let (least, most) = LATE_CHECK_INTERVAL;
        next.map_or(most, |next| Duration::from_nanos(next.since(now)))
            .clamp(least, most)
    }

    /// Appends the line of a message, and returns the weight of its request.
    fn encode(&mut self, message: ConsumerMessage) -> Result<u32, StoreError> {
        match message {
            ConsumerMessage::Reply { reply, tag, weight } => {
                if let Reply::Error(refusal) = &reply {
                    self.metrics.refuse(refusal.code);
                }
                let bytes = &mut self.chunk.bytes;
                self.encoder.encode(&reply, tag.as_deref(), bytes);
                Ok(weight)
            }
            ConsumerMessage::Done(weight) => Ok(weight),
            ConsumerMessage::Deliver {
                seq,
                route,
                id,
                due,
                attempt,
                until,
                write_by,
                accept,
                authority,
                ..
            } => {
                let copy = self.outbox.copy_of(seq, id);
                let is_void = |it: &&Arc<Authority>| !it.holds(self.outbox.now());
                if let Some(authority) = authority.as_ref().filter(is_void) {
                    self.outbox.report(FrontInput::Revoked {
                        copy,
                        attempt,
                        authority: authority.clone(),
                    });
                } else if write_by <= self.now {
                    self.outbox.report_too_late(copy, attempt, until);
                } else if self.may_deliver() {
                    let delivery = EncodedDelivery {
                        copy,
                        due,
                        attempt,
                        until,
                        write_by,
                        authority,
                    };
                    self.deliver(delivery, &route, accept)?;
                } else {
                    self.outbox.add_unwritten(copy, attempt);
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
        delivery: EncodedDelivery,
        route: &str,
        accept: Accept,
    ) -> Result<(), StoreError> {
        let bytes = &mut self.chunk.bytes;
        let start = bytes.len();
        let (seq, id) = (delivery.copy.seq, &*delivery.copy.id);
        let (due, attempt) = (delivery.due, delivery.attempt);
        let read = || {
            self.view.content(seq, |task| {
                let delivery = hyper_delay_protocol::Delivery {
                    id,
                    route,
                    fire_at: task.fire_at,
                    due: Some(due).filter(|due| *due != task.fire_at),
                    compression: task.compression,
                    payload: task.payload,
                    attempt,
                    headers: task.headers,
                };
                trace_context::log("delivery", route, id, task.headers);
                inflate::encode(&delivery, accept, self.max_line_bytes, bytes)
            })
        };
        // The store's library can panic on a damaged block. The panic would end this connection,
        // and every one that the task is given to later.
        let written = panic::catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Err(StoreError::damage("read", "the read has panicked")));
        if written.is_err() {
            self.chunk.bytes.truncate(start);
        }
        if let Ok(Some(Ok(()))) = written {
            self.chunk.add_delivery(start, delivery);
            return Ok(());
        }
        let (copy, authority) = (delivery.copy, delivery.authority);
        let input = match written {
            Ok(Some(Err(error))) => self.undeliverable(Warning::Payload, route, copy, &error),
            // The revision was removed since: by an ack, a cancel or a replacement.
            Ok(_) => FrontInput::NotSent(copy, UnsentReason::Gone),
            Err(error) if error.is_damage() => match self.replicas.zip(authority) {
                Some((replicas, authority)) => {
                    // Other nodes have it whole.
                    let _ = replicas.send(ReplicaEvent::Damaged(seq, error));
                    FrontInput::Revoked {
                        copy,
                        attempt,
                        authority,
                    }
                }
                None => self.undeliverable(Warning::Unreadable, route, copy, &error),
            },
            Err(error) => return Err(error),
        };
        self.outbox.report(input);
        Ok(())
    }

    /// Logs that the content of a task cannot be delivered. Returns the input for the scheduler.
    fn undeliverable(
        &self,
        warning: Warning,
        route: &str,
        copy: CopyId,
        error: &dyn fmt::Display,
    ) -> FrontInput {
        let (id, reason) = (&*copy.id, error.to_string());
        let cause = format!("task {id:?} on route {route:?}: {reason}");
        self.logs.warn(warning, cause);
        let reason = reason.into();
        FrontInput::NotSent(copy, UnsentReason::Undeliverable(reason))
    }
}

/// Ends the direction to the client.
pub(super) async fn close(write: &mut WriteHalf) -> Result<(), &'static str> {
    write.announce_end();
    let announced = write_all(write, &[]).await;
    write.shutdown().await;
    announced
}

pub(super) async fn write_all(write: &mut WriteHalf, mut bytes: &[u8]) -> Result<(), &'static str> {
    loop {
        match timeout(STALL_TIMEOUT, write.write(&mut bytes)).await {
            Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => {}
            Ok(Err(_)) => return Err(BROKEN),
            Err(_) => return Err(NO_PROGRESS),
        }
    }
}
