//! The messages to connections, on their way from the thread that makes them to the writers.

mod all;

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

pub use all::Outboxes;

use hyper_delay_engine::{
    clock::Clock,
    scheduler::{ConsumerId, CopyOf, Input, Message},
};
use hyper_delay_store::StoreError;

/// What an outbox reports to the thread that fills it.
#[derive(Debug)]
pub(crate) enum Report {
    /// What has become of a copy.
    Input(Input),
    /// The content of this revision cannot be read from the replica of this node.
    Damaged(u64, StoreError),
}

/// The way of reports to the thread that fills the outboxes.
#[derive(Clone)]
pub(crate) struct Reports(Arc<dyn Fn(Report) + Send + Sync>);

impl Reports {
    pub(crate) fn new(send: impl Fn(Report) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    fn send(&self, report: Report) {
        (self.0)(report);
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").finish_non_exhaustive()
    }
}

/// The messages to one connection, and the room for its requests under way.
///
/// Replies are limited by the room that their requests have taken, deliveries by the credit while
/// their rounds last. A delivery whose time to answer is nearly over is dropped, and returns its
/// credit: by its writer, also while that waits for the socket, and by a queue that grows.
#[derive(Debug)]
pub struct Outbox {
    /// The connection whose messages these are.
    id: ConsumerId,
    reports: Reports,
    queue: Mutex<Queue>,
    /// What the writer has taken from the queue, and has not encoded. The writer holds it while it
    /// encodes; who fills the queue never waits for it.
    batch: Mutex<VecDeque<Message>>,
    /// Deliveries that were encoded, or were about to be, and of which nothing was written.
    unwritten: Mutex<Vec<(CopyOf, u32)>>,
    wake: Notify,
    room: Semaphore,
    /// The room when no request is under way.
    capacity: u32,
    clock: Clock,
    /// One permit: the right to write deliveries. The writer holds it while it writes some; the end
    /// of the connection closes it.
    deliveries: Semaphore,
    /// The connection is about to end and starts no further delivery.
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Message>,
    /// The number of messages left by the last drop of late deliveries.
    kept: usize,
    closed: bool,
}

/// The number of queued messages from which on late deliveries are dropped.
const LONG: usize = 1024;

/// The bytes of a line that take as much room as a request without them.
const PAGE: usize = 4096;

impl Outbox {
    pub(crate) fn new(id: ConsumerId, reports: Reports, capacity: usize, clock: Clock) -> Self {
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
        let pages = u32::try_from(line / PAGE).unwrap_or(u32::MAX);
        pages.saturating_add(1).min(self.capacity)
    }

    /// Takes room for a request, if there is enough. Returns whether it did.
    pub(crate) fn try_take(&self, weight: u32) -> bool {
        self.room
            .try_acquire_many(weight)
            .map(SemaphorePermit::forget)
            .is_ok()
    }

    /// Waits for room for a request, and takes it.
    pub(crate) async fn take(&self, weight: u32) {
        if let Ok(permit) = self.room.acquire_many(weight).await {
            permit.forget();
        }
    }

    /// Waits until all requests are answered and the replies are written.
    pub(crate) async fn answered(&self) {
        self.take(self.capacity).await;
    }

    /// Returns whether no request is under way.
    pub(crate) fn is_answered(&self) -> bool {
        self.room.available_permits() == self.capacity as usize
    }

    /// Returns the time on the scheduler's clock.
    pub(crate) fn now(&self) -> Tick {
        self.clock.now().monotonic
    }

    /// Gives room back.
    pub(crate) fn give(&self, weight: u32) {
        self.room.add_permits(weight as usize);
    }

    /// Adds a message. Returns whether it is the first: then the caller wakes the writer once all
    /// are added.
    pub fn push(&self, message: Message) -> bool {
        let mut queue = self.queue();
        // A long queue is searched each time it has doubled, so that a message costs little.
        if queue.messages.len() >= LONG.max(2 * queue.kept) {
            self.drop_late(&mut queue.messages, self.now());
            queue.kept = queue.messages.len();
        }
        queue.messages.push_back(message);
        queue.messages.len() == 1
    }

    /// Wakes the writer.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Closes the queue. [`next`](Self::next) takes the messages that are left, then returns false.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.wake();
    }

    /// Waits for messages and takes all of them into the [batch](Self::batch). Returns false once the
    /// queue is closed and empty.
    pub(crate) async fn next(&self) -> bool {
        loop {
            {
                let mut queue = self.queue();
                if !queue.messages.is_empty() {
                    queue.kept = 0;
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
    pub(crate) async fn all(&self) -> Option<Vec<Message>> {
        let has_some = self.next().await;
        has_some.then(|| mem::take(&mut *self.batch()).into())
    }

    /// Returns what the writer has taken and not encoded.
    pub(crate) fn batch(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing was written of a delivery that the writer has taken, and nothing will be.
    pub(crate) fn not_written(&self, copy: CopyOf, attempt: u32) {
        self.unwritten_ones().push((copy, attempt));
    }

    /// Removes all deliveries of which nothing was written. Returns what to report. The connection has
    /// [stopped](Self::stop_deliveries).
    pub(crate) fn take_unwritten(&self) -> Vec<Input> {
        let mut taken = Vec::new();
        let mut take = |messages: &mut VecDeque<Message>| {
            messages.retain(|message| match message {
                Message::Deliver {
                    seq, id, attempt, ..
                } => {
                    taken.push((self.copy_of(*seq, id.clone()), *attempt));
                    false
                }
                _ => true,
            });
        };
        take(&mut self.batch());
        take(&mut self.queue().messages);
        // Last: the writer holds the batch while it adds some.
        taken.append(&mut self.unwritten_ones());
        let unwritten = taken.into_iter();
        unwritten
            .map(|(copy, attempt)| Input::Unwritten { copy, attempt })
            .collect()
    }

    /// Drops the deliveries whose time to be written has passed: the writer cannot write them now.
    /// Returns when that of the next one passes.
    pub(crate) fn drop_late_now(&self, now: Tick) -> Option<Tick> {
        let of_batch = self.drop_late(&mut self.batch(), now);
        let of_queue = self.drop_late(&mut self.queue().messages, now);
        of_batch.into_iter().chain(of_queue).min()
    }

    /// Removes the deliveries of leaderships that have ended for good. Returns what to report.
    pub fn take_void(&self) -> Vec<Input> {
        let mut void = Vec::new();
        self.queue().messages.retain(|message| match message {
            Message::Deliver {
                seq,
                id,
                attempt,
                authority: Some(authority),
                ..
            } if authority.is_revoked() => {
                void.push(Input::Void {
                    copy: self.copy_of(*seq, id.clone()),
                    attempt: *attempt,
                    authority: Some(authority.clone()),
                });
                false
            }
            _ => true,
        });
        void
    }

    /// The content of a revision cannot be read from the replica of this node.
    pub(crate) fn damaged(&self, seq: u64, error: StoreError) {
        self.reports.send(Report::Damaged(seq, error));
    }

    /// Tells the scheduler what has become of a copy.
    pub(crate) fn report(&self, input: Input) {
        self.reports.send(Report::Input(input));
    }

    /// Returns which copy of a task this connection has.
    pub(crate) const fn copy_of(&self, seq: u64, id: Arc<str>) -> CopyOf {
        CopyOf {
            consumer: self.id,
            seq,
            id,
        }
    }

    /// Drops the deliveries whose time to be written has passed. Returns when that of the next one
    /// passes.
    fn drop_late(&self, messages: &mut VecDeque<Message>, now: Tick) -> Option<Tick> {
        let mut next: Option<Tick> = None;
        messages.retain(|message| match message {
            Message::Deliver {
                seq,
                id,
                attempt,
                until,
                write_by,
                ..
            } => {
                let is_late = *write_by <= now;
                if is_late {
                    self.too_late(self.copy_of(*seq, id.clone()), *attempt, *until);
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
    pub(crate) fn too_late(&self, copy: CopyOf, attempt: u32, until: Tick) {
        self.report(Input::SentTooLate {
            copy,
            attempt,
            until,
        });
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unwritten_ones(&self) -> MutexGuard<'_, Vec<(CopyOf, u32)>> {
        let unwritten = self.unwritten.lock();
        unwritten.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
