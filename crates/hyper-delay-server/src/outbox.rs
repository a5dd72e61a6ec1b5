//! The messages to connections, on their way from the thread that makes them to the writers.

mod outboxes;

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use race_wheel::Tick;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

pub use outboxes::ConnectionOutboxes;

use hyper_delay_engine::{
    clock::Clock,
    front::{ConsumerMessage, FrontInput},
    scheduler::{ConsumerId, CopyId, UnsentReason},
};

/// Sends the outcomes of copies to the thread that fills the outboxes.
#[derive(Clone)]
pub(crate) struct ReportSender(Arc<dyn Fn(FrontInput) + Send + Sync>);

impl ReportSender {
    pub(crate) fn new(send: impl Fn(FrontInput) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    fn send(&self, report: FrontInput) {
        (self.0)(report);
    }
}

impl fmt::Debug for ReportSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportSender").finish_non_exhaustive()
    }
}

/// The messages to one connection, and the room for its requests in flight.
///
/// Replies are limited by the room that their requests have taken, deliveries by the credit while
/// their rounds last. A delivery whose time to answer is nearly over is dropped, and returns its
/// credit: by its writer, also while that waits for the socket, and by a queue that grows.
#[derive(Debug)]
pub struct ConnectionOutbox {
    /// The connection whose messages these are.
    id: ConsumerId,
    reports: ReportSender,
    queue: Mutex<MessageQueue>,
    /// Messages that the writer has taken and not encoded. The writer holds the lock while it
    /// encodes; the thread that fills the queue never waits for it.
    batch: Mutex<VecDeque<ConsumerMessage>>,
    /// Deliveries that were encoded, or were about to be, and of which nothing was written.
    unwritten: Mutex<Vec<(CopyId, u32)>>,
    wake: Notify,
    room: Semaphore,
    /// The room when no request is in flight.
    capacity: u32,
    clock: Clock,
    /// One permit: the right to write deliveries. The writer holds it while it writes some; the end
    /// of the connection closes it.
    deliveries: Semaphore,
    /// The connection is about to end and starts no further delivery.
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct MessageQueue {
    messages: VecDeque<ConsumerMessage>,
    /// The number of messages left by the last drop of late deliveries.
    after_last_drop: usize,
    closed: bool,
}

/// The number of queued messages from which on late deliveries are dropped.
const LONG_QUEUE: usize = 1024;

/// The bytes of a line that take as much room as a request without them.
const WEIGHT_UNIT_BYTES: usize = 4096;

impl ConnectionOutbox {
    pub(crate) fn new(
        id: ConsumerId,
        reports: ReportSender,
        capacity: usize,
        clock: Clock,
    ) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        Self {
            id,
            reports,
            queue: Mutex::default(),
            batch: Mutex::default(),
            unwritten: Mutex::default(),
            wake: Notify::new(),
            room: Semaphore::new(capacity as usize),
            capacity,
            clock,
            deliveries: Semaphore::new(1),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Drops the deliveries whose writing has not started, and waits until no other is being
    /// written. Afterwards the scheduler can be told that the connection is closed.
    pub(crate) async fn stop_deliveries(&self) {
        self.is_ending.store(true, Ordering::Release);
        let _ = self.deliveries.acquire().await;
        self.deliveries.close();
    }

    /// Takes the right to write deliveries, until the permit is dropped. Returns `None` if the
    /// connection is about to end.
    pub(crate) fn begin_deliveries(&self) -> Option<SemaphorePermit<'_>> {
        self.deliveries.try_acquire().ok()
    }

    /// Returns whether the connection is about to end and starts no further delivery.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Returns the room that a request takes, by the length of its line.
    pub(crate) fn weight(&self, line: usize) -> u32 {
        let pages = u32::try_from(line / WEIGHT_UNIT_BYTES).unwrap_or(u32::MAX);
        pages.saturating_add(1).min(self.capacity)
    }

    /// Takes room for a request, if there is enough. Returns whether it did.
    pub(crate) fn try_reserve(&self, weight: u32) -> bool {
        self.room
            .try_acquire_many(weight)
            .map(SemaphorePermit::forget)
            .is_ok()
    }

    /// Waits for room for a request, and takes it.
    pub(crate) async fn reserve(&self, weight: u32) {
        if let Ok(permit) = self.room.acquire_many(weight).await {
            permit.forget();
        }
    }

    /// Waits until all requests are answered and the replies are written.
    pub(crate) async fn all_answered(&self) {
        self.reserve(self.capacity).await;
    }

    /// Returns whether no request is in flight.
    pub(crate) fn is_answered(&self) -> bool {
        self.room.available_permits() == self.capacity as usize
    }

    /// Returns the time on the scheduler's clock.
    pub(crate) fn now(&self) -> Tick {
        self.clock.now().monotonic
    }

    /// Gives room back.
    pub(crate) fn release(&self, weight: u32) {
        self.room.add_permits(weight as usize);
    }

    /// Adds a message. Returns whether it is the first: then the caller wakes the writer once all
    /// are added.
    pub fn push(&self, message: ConsumerMessage) -> bool {
        let mut queue = self.lock_queue();
        // A long queue is searched each time it has doubled, so that a message costs little.
        if queue.messages.len() >= LONG_QUEUE.max(2 * queue.after_last_drop) {
            self.drop_late(&mut queue.messages, self.now());
            queue.after_last_drop = queue.messages.len();
        }
        queue.messages.push_back(message);
        queue.messages.len() == 1
    }

    /// Wakes the writer.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Closes the queue. [`next_batch`](Self::next_batch) takes the messages that are left, then
    /// returns false.
    pub(crate) fn close(&self) {
        self.lock_queue().closed = true;
        self.wake();
    }

    /// Waits for messages and takes all of them into the [batch](Self::batch). Returns false once
    /// the queue is closed and empty.
    pub(crate) async fn next_batch(&self) -> bool {
        loop {
            {
                let mut queue = self.lock_queue();
                if !queue.messages.is_empty() {
                    queue.after_last_drop = 0;
                    let mut batch = self.batch();
                    debug_assert!(batch.is_empty(), "it is encoded before");
                    mem::swap(&mut *batch, &mut queue.messages);
                    return true;
                }
                if queue.closed {
                    return false;
                }
            }
            self.wake.notified().await;
        }
    }

    /// Waits for messages and returns all of them; `None` once the queue is closed and empty.
    pub(crate) async fn take_all(&self) -> Option<Vec<ConsumerMessage>> {
        let has_some = self.next_batch().await;
        has_some.then(|| mem::take(&mut *self.batch()).into())
    }

    /// Returns the messages that the writer has taken and not encoded.
    pub(crate) fn batch(&self) -> MutexGuard<'_, VecDeque<ConsumerMessage>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing was written of a delivery that the writer has taken, and nothing will be.
    pub(crate) fn add_unwritten(&self, copy: CopyId, attempt: u32) {
        self.lock_unwritten().push((copy, attempt));
    }

    /// Removes all deliveries of which nothing was written. Returns their reports. The connection
    /// has [stopped](Self::stop_deliveries).
    pub(crate) fn take_unwritten(&self) -> Vec<FrontInput> {
        let mut taken = Vec::new();
        let mut take = |messages: &mut VecDeque<ConsumerMessage>| {
            messages.retain(|message| match message {
                ConsumerMessage::Deliver {
                    seq, id, attempt, ..
                } => {
                    taken.push((self.copy_of(*seq, id.clone()), *attempt));
                    false
                }
                _ => true,
            });
        };
        take(&mut self.batch());
        take(&mut self.lock_queue().messages);
        // Last: the writer holds the batch while it adds some.
        taken.append(&mut self.lock_unwritten());
        let unwritten = taken.into_iter();
        unwritten
            .map(|(copy, attempt)| FrontInput::NotSent(copy, UnsentReason::Unwritten { attempt }))
            .collect()
    }

    /// Drops the deliveries whose time to be written has passed: the writer cannot write them now.
    /// Returns the next such time.
    pub(crate) fn drop_late_now(&self, now: Tick) -> Option<Tick> {
        let of_batch = self.drop_late(&mut self.batch(), now);
        let of_queue = self.drop_late(&mut self.lock_queue().messages, now);
        of_batch.into_iter().chain(of_queue).min()
    }

    /// Removes the deliveries of leaderships that have ended for good. Returns their reports.
    pub fn take_void(&self) -> Vec<FrontInput> {
        let mut void = Vec::new();
        self.lock_queue().messages.retain(|message| match message {
            ConsumerMessage::Deliver {
                seq,
                id,
                attempt,
                authority: Some(authority),
                ..
            } if authority.is_revoked() => {
                void.push(FrontInput::Revoked {
                    copy: self.copy_of(*seq, id.clone()),
                    attempt: *attempt,
                    authority: authority.clone(),
                });
                false
            }
            _ => true,
        });
        void
    }

    /// Reports the outcome of a copy to the scheduler.
    pub(crate) fn report(&self, input: FrontInput) {
        self.reports.send(input);
    }

    /// Returns the id of the copy of a task on this connection.
    pub(crate) const fn copy_of(&self, seq: u64, id: Arc<str>) -> CopyId {
        CopyId {
            consumer: self.id,
            seq,
            id,
        }
    }

    /// Drops the deliveries whose time to be written has passed. Returns when that of the next one
    /// passes.
    fn drop_late(&self, messages: &mut VecDeque<ConsumerMessage>, now: Tick) -> Option<Tick> {
        let mut next: Option<Tick> = None;
        messages.retain(|message| match message {
            ConsumerMessage::Deliver {
                seq,
                id,
                attempt,
                until,
                write_by,
                ..
            } => {
                let is_late = *write_by <= now;
                if is_late {
                    self.report_too_late(self.copy_of(*seq, id.clone()), *attempt, *until);
                } else {
                    next = Some(next.map_or(*write_by, |next| next.min(*write_by)));
                }
                !is_late
            }
            _ => true,
        });
        next
    }

    /// Tells the scheduler that a copy is not written, because its time to answer is nearly over.
    pub(crate) fn report_too_late(&self, copy: CopyId, attempt: u32, until: Tick) {
        let why = UnsentReason::TooLate { attempt, until };
        self.report(FrontInput::NotSent(copy, why));
    }

    fn lock_queue(&self) -> MutexGuard<'_, MessageQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_unwritten(&self) -> MutexGuard<'_, Vec<(CopyId, u32)>> {
        let unwritten = self.unwritten.lock();
        unwritten.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
