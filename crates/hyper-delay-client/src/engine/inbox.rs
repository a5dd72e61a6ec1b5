use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::{End, Unanswered};

/// The credit before the server names another.
const CREDIT: u16 = 256;

/// The deliveries of a route that wait for their listener.
///
/// A channel does not fit: the deliveries of a lost connection must be removed.
#[derive(Debug)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Unanswered>>,
    credit: AtomicU16,
    end: OnceLock<End>,
    changed: Notify,
}

impl Inbox {
    pub(crate) fn new(credit: Option<u16>) -> Self {
        Self {
            waiting: Mutex::default(),
            credit: AtomicU16::new(credit.unwrap_or(CREDIT).max(1)),
            end: OnceLock::new(),
            changed: Notify::new(),
        }
    }

    /// Adds a delivery. Returns it if the route has ended or has no room.
    pub(super) fn put(&self, unanswered: Unanswered, room: usize) -> Result<(), Unanswered> {
        let mut waiting = self.waiting();
        if self.end.get().is_some() || waiting.len() >= room {
            return Err(unanswered);
        }
        waiting.push_back(unanswered);
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for a delivery, or for the end after the last one. For one caller at a time.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, nothing is taken.
    pub(crate) async fn take(&self) -> Option<Unanswered> {
        loop {
            if let Some(unanswered) = self.waiting().pop_front() {
                return Some(unanswered);
            }
            if self.end.get().is_some() {
                return None;
            }
            self.changed.notified().await;
        }
    }

    /// Gives the waiting deliveries back: they are due at once.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        for unanswered in waiting {
            unanswered.give_back_unseen(Some(Duration::ZERO));
        }
    }

    /// Ends the route. The first end is kept.
    pub(crate) fn finish(&self, end: End) {
        let closed = end == End::Closed;
        {
            // Under the lock, so that no delivery is added after it.
            let _waiting = self.waiting();
            let _ = self.end.set(end);
        }
        if closed {
            self.clear();
        }
        self.changed.notify_one();
    }

    pub(crate) fn end(&self) -> Option<&End> {
        self.end.get()
    }

    pub(crate) fn credit(&self) -> u16 {
        self.credit.load(Ordering::Relaxed)
    }

    pub(super) fn set_credit(&self, credit: u16) {
        self.credit.store(credit, Ordering::Relaxed);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Unanswered>> {
        // Each change is one call, so a panic cannot leave it half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
