//! Frames that wait to be written to a link.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;

use super::{
    error::LinkError,
    frame::{self, Frame, FrameTooLong},
};
use crate::ShardId;

/// A buffer that keeps its room between two writes has at most this much.
const KEPT: usize = 1 << 20;

/// Frames in their order, until the link takes them. Taking part in it never blocks: beyond a limit
/// the link is cut.
#[derive(Debug)]
pub(crate) struct LinkOutbox {
    state: Mutex<LinkOutboxState>,
    /// There is something to write.
    filled: Notify,
    /// The link must end.
    cut: Notify,
    limit: usize,
}

#[derive(Debug, Default)]
struct LinkOutboxState {
    bytes: Vec<u8>,
    end: Option<OutboxClosed>,
}

/// Why an outbox is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutboxClosed {
    /// The link is over.
    LinkEnded,
    /// A newer link of the same node took its place.
    Replaced,
    /// More than the limit waits: the other side does not read.
    Full,
    /// A message has no room in a frame.
    TooLong(FrameTooLong),
}

impl LinkOutbox {
    /// Takes up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            filled: Notify::new(),
            cut: Notify::new(),
            limit,
        }
    }

    /// Appends a message of a shard. It is written after the next [`flush`](Self::flush), if not
    /// before.
    pub(super) fn push<M: Serialize>(&self, shard: ShardId, message: &M) {
        self.append(&Frame::Message(shard, message));
    }

    /// Appends a frame, unless the link is over.
    pub(super) fn append<M: Serialize>(&self, frame: &Frame<M>) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        if let Err(error) = frame::append(frame, &mut state.bytes) {
            self.close_locked(state, OutboxClosed::TooLong(error));
        } else if state.bytes.len() > self.limit {
            self.close_locked(state, OutboxClosed::Full);
        }
    }

    /// Lets everything be written that was appended, in as few writes as possible.
    pub(super) fn flush(&self) {
        self.filled.notify_one();
    }

    /// Waits until there is something to write, and swaps it with `written`, which is cleared.
    /// Cancel safe.
    pub(super) async fn take(&self, written: &mut Vec<u8>) {
        written.clear();
        if written.capacity() > KEPT {
            *written = Vec::new();
        }
        loop {
            {
                let mut state = self.lock();
                if !state.bytes.is_empty() {
                    return std::mem::swap(&mut state.bytes, written);
                }
            }
            self.filled.notified().await;
        }
    }

    /// Takes nothing from now on, forgets what waits, and lets the link end.
    pub(super) fn close(&self, end: OutboxClosed) {
        let state = self.lock();
        if state.end.is_none() {
            self.close_locked(state, end);
        }
    }

    fn close_locked(&self, mut state: MutexGuard<'_, LinkOutboxState>, end: OutboxClosed) {
        *state = LinkOutboxState {
            bytes: Vec::new(),
            end: Some(end),
        };
        self.cut.notify_one();
    }

    /// Resolves when the link must end. Cancel safe; only one task may wait.
    pub(super) async fn closed(&self) -> LinkError {
        loop {
            let end = self.lock().end;
            match end {
                Some(OutboxClosed::LinkEnded) => return LinkError::Closed,
                Some(OutboxClosed::Replaced) => return LinkError::Replaced,
                Some(OutboxClosed::Full) => return LinkError::TooSlow(self.limit),
                Some(OutboxClosed::TooLong(error)) => return LinkError::TooLong(error),
                None => self.cut.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LinkOutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_take_returns_all_that_was_appended() {
        let outbox = LinkOutbox::new(100);
        let mut expected = Vec::new();
        for number in 0..3_u8 {
            outbox.push(ShardId(1), &number);
            frame::append(&Frame::Message(ShardId(1), number), &mut expected).unwrap();
        }
        outbox.flush();
        let mut written = vec![9; 5];
        outbox.take(&mut written).await;
        assert_eq!(written, expected);
    }

    #[tokio::test]
    async fn a_full_outbox_ends_the_link_and_keeps_nothing() {
        let outbox = LinkOutbox::new(20);
        for _ in 0..3 {
            outbox.push(ShardId(1), &"0123456789");
        }
        assert!(matches!(outbox.closed().await, LinkError::TooSlow(20)));
        assert!(outbox.lock().bytes.is_empty());
        outbox.push(ShardId(1), &"more");
        outbox.close(OutboxClosed::LinkEnded);
        assert!(outbox.lock().bytes.is_empty());
        assert!(matches!(outbox.closed().await, LinkError::TooSlow(20)));
    }

    #[tokio::test]
    async fn a_message_without_room_in_a_frame_ends_the_link() {
        let outbox = LinkOutbox::new(usize::MAX);
        outbox.push(ShardId(1), &"x".repeat(frame::LONGEST));
        assert!(matches!(outbox.closed().await, LinkError::TooLong(_)));
    }
}
