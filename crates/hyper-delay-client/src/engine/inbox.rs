use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::{End, Unanswered};

/// The server's credit, unless it tells another.
const CREDIT: u16 = 256;

/// The deliveries of a route that wait for its listener.
///
/// A channel would not do: when the connection is lost, what waits is of no use any more.
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

    /// Gives the delivery back out if it has its end, or as many wait as there is room for.
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

    /// What waits is taken first, then comes the end. Of use to one at a time.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, it has taken nothing.
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

    /// Drops what waits, which gives it back.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        drop(waiting);
    }

    /// Nothing more comes; the first end is the one that counts.
    pub(crate) fn finish(&self, end: End) {
        let closed = end == End::Closed;
        {
            // Under the lock, so that nothing is put in behind it.
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
        // Whoever held it left it whole: each change is one call.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
