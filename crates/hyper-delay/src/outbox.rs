use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, Semaphore};

use crate::scheduler::Message;

/// What is to be written to one connection, and how much of what it asked for is under way.
///
/// The queue needs no bound of its own: replies are bounded by the room that their requests took before they were
/// read on, deliveries by the credit.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    wake: Notify,
    room: Semaphore,
    /// All the room there is.
    capacity: u32,
}

#[derive(Debug, Default)]
struct Queue {
    messages: Vec<Message>,
    closed: bool,
}

/// Payload that takes as much room as a request itself.
const PAGE: usize = 4096;

impl Outbox {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
            room: Semaphore::new(capacity as usize),
            capacity,
        }
    }

    /// What a request takes, by the length of its line.
    pub(crate) fn weight(&self, line: usize) -> u32 {
        let pages = u32::try_from(line / PAGE).unwrap_or(u32::MAX);
        pages.saturating_add(1).min(self.capacity)
    }

    /// Takes room for a request, if there is any left.
    pub(crate) fn try_take(&self, weight: u32) -> bool {
        self.room
            .try_acquire_many(weight)
            .map(tokio::sync::SemaphorePermit::forget)
            .is_ok()
    }

    /// Waits for room for a request, and takes it.
    pub(crate) async fn take(&self, weight: u32) {
        if let Ok(permit) = self.room.acquire_many(weight).await {
            permit.forget();
        }
    }

    /// Waits until all requests are answered, and the answers written.
    pub(crate) async fn answered(&self) {
        self.take(self.capacity).await;
    }

    /// Returns whether no request is under way.
    pub(crate) fn is_answered(&self) -> bool {
        self.room.available_permits() == self.capacity as usize
    }

    /// Gives room back.
    pub(crate) fn give(&self, weight: u32) {
        self.room.add_permits(weight as usize);
    }

    /// Puts a message in. Tells whether it is the first, so that the writer is to be woken once all are in.
    pub(crate) fn push(&self, message: Message) -> bool {
        let mut queue = self.queue();
        queue.messages.push(message);
        queue.messages.len() == 1
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Nothing will be put in any more.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.wake();
    }

    /// Waits for messages; none if it is closed and empty.
    pub(crate) async fn next(&self, spare: Vec<Message>) -> Option<Vec<Message>> {
        let mut spare = Some(spare);
        loop {
            {
                let mut queue = self.queue();
                if !queue.messages.is_empty() {
                    let spare = spare.take().unwrap_or_default();
                    return Some(mem::replace(&mut queue.messages, spare));
                }
                if queue.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
