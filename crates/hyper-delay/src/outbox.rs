mod all;

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};

use race_wheel::Tick;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

pub(crate) use all::Outboxes;

use crate::{
    clock::Clock,
    driver::Event,
    scheduler::{ConsumerId, CopyOf, Input, Message},
    store::StoreError,
};

/// The messages to one connection, and the room for its requests under way.
///
/// Replies are limited by the room that their requests have taken, deliveries by the credit while
/// their rounds last. A delivery whose time to answer has passed returns its credit, so a queue
/// that grows drops such deliveries.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// The connection whose messages these are.
    id: ConsumerId,
    events: Sender<Event>,
    queue: Mutex<Queue>,
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
    messages: Vec<Message>,
    /// The number of messages left by the last drop of late deliveries.
    kept: usize,
    closed: bool,
}

/// The number of queued messages from which on late deliveries are dropped.
const LONG: usize = 1024;

/// The bytes of a line that take as much room as a request without them.
const PAGE: usize = 4096;

impl Outbox {
    pub(crate) fn new(
        id: ConsumerId,
        events: Sender<Event>,
        capacity: usize,
        clock: Clock,
    ) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        Self {
            id,
            events,
            queue: Mutex::default(),
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
    pub(crate) fn push(&self, message: Message) -> bool {
        let mut queue = self.queue();
        // A long queue is searched each time it has doubled, so that a message costs little.
        if queue.messages.len() >= LONG.max(2 * queue.kept) {
            self.drop_late(&mut queue);
        }
        queue.messages.push(message);
        queue.messages.len() == 1
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Closes the queue. [`next`](Self::next) returns the messages that are left, then `None`.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.wake();
    }

    /// Waits for messages and takes all of them; `None` once the queue is closed and empty. Leaves
    /// `spare` in place of the messages.
    pub(crate) async fn next(&self, spare: Vec<Message>) -> Option<Vec<Message>> {
        let mut spare = Some(spare);
        loop {
            {
                let mut queue = self.queue();
                if !queue.messages.is_empty() {
                    let spare = spare.take().unwrap_or_default();
                    queue.kept = 0;
                    return Some(mem::replace(&mut queue.messages, spare));
                }
                if queue.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }

    /// Removes the deliveries of leaderships that have ended for good. Returns what to report.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn take_void(&self) -> Vec<Input> {
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
        let _ = self.events.send(Event::Damaged(seq, error));
    }

    /// Tells the scheduler what has become of a copy.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.events.send(Event::Input(input));
    }

    /// Returns which copy of a task this connection has.
    pub(crate) const fn copy_of(&self, seq: u64, id: Arc<str>) -> CopyOf {
        CopyOf {
            consumer: self.id,
            seq,
            id,
        }
    }

    /// Drops the deliveries whose time to answer has passed.
    fn drop_late(&self, queue: &mut Queue) {
        let now = self.now();
        queue.messages.retain(|message| match message {
            Message::Deliver {
                seq,
                id,
                attempt,
                until,
                ..
            } if *until <= now => {
                self.report(Input::SentTooLate {
                    copy: self.copy_of(*seq, id.clone()),
                    attempt: *attempt,
                    until: *until,
                });
                false
            }
            _ => true,
        });
        queue.kept = queue.messages.len();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver};

    use super::*;
    use crate::protocol::Accept;

    fn outbox(capacity: usize) -> (Outbox, Receiver<Event>) {
        let (events, inbox) = mpsc::channel();
        (Outbox::new(7, events, capacity, Clock::new()), inbox)
    }

    #[test]
    fn request_of_any_length_fits_if_no_other_is_under_way() {
        let (outbox, _) = outbox(2);
        for (line, weight) in [(0, 1), (PAGE - 1, 1), (PAGE, 2), (100 * PAGE, 2)] {
            assert_eq!(outbox.weight(line), weight, "{line}");
            assert!(outbox.try_take(weight));
            assert!(!outbox.is_answered());
            assert_eq!(outbox.try_take(1), weight < 2);
            outbox.give(2);
            assert!(outbox.is_answered());
        }
    }

    fn delivery(seq: u64, until: Tick) -> Message {
        Message::Deliver {
            seq,
            route: "route".into(),
            id: "task".into(),
            attempt: 1,
            until,
            expires_at: None,
            accept: Accept::default(),
            authority: None,
        }
    }

    #[tokio::test]
    async fn a_long_queue_drops_late_deliveries_and_nothing_else_and_says_so() {
        let (outbox, inbox) = outbox(1);
        for seq in 0..10_000 {
            outbox.push(delivery(seq, Tick::ZERO));
            if seq % 10 == 0 {
                outbox.push(delivery(seq, Tick::new(u64::MAX)));
                outbox.push(Message::Quiet(1));
            }
        }
        let messages = outbox.next(Vec::new()).await.unwrap();
        assert!(messages.len() <= 2 * 2_000 + 1, "{}", messages.len());
        let replies = messages.iter();
        let replies = replies.filter(|message| matches!(message, Message::Quiet(_)));
        assert_eq!(replies.count(), 1_000);
        let live = messages.iter().filter_map(|message| match message {
            Message::Deliver { seq, until, .. } if *until > Tick::ZERO => Some(*seq),
            _ => None,
        });
        assert!(live.eq((0..10_000).step_by(10)), "in their order");
        let reported = inbox.try_iter().map(|event| match event {
            Event::Input(Input::SentTooLate {
                copy, attempt: 1, ..
            }) => (copy.consumer, copy.seq),
            event => panic!("{event:?}"),
        });
        let late = messages.iter().filter_map(|message| match message {
            Message::Deliver { seq, until, .. } if *until == Tick::ZERO => Some((7, *seq)),
            _ => None,
        });
        let mut all: Vec<_> = reported.chain(late).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq((0..10_000).map(|seq| (7, seq))));
    }
}
