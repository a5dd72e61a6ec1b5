//! The answers that tasks and blocking threads owe a shard. Each is given, also after a panic.

use std::sync::mpsc::Sender;

use super::worker::WorkerMessage;
use crate::{
    call_id::CallId,
    log::{LogAnswer, LogUnanswered},
    shard::ShardEvent,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_store::StoreError;

/// The answer to a request to the log.
#[derive(Debug)]
pub(super) struct CallReply {
    call: CallId,
    /// `None`: it was given.
    to: Option<Sender<WorkerMessage>>,
}

impl CallReply {
    pub(super) const fn new(call: CallId, to: Sender<WorkerMessage>) -> Self {
        Self { call, to: Some(to) }
    }

    pub(super) fn send(mut self, answer: Result<LogAnswer, LogUnanswered>) {
        self.deliver(answer);
    }

    fn deliver(&mut self, answer: Result<LogAnswer, LogUnanswered>) {
        if let Some(to) = self.to.take() {
            // The thread of the shard may have ended.
            let _ = to.send(WorkerMessage::Event(ShardEvent::Answered(
                self.call, answer,
            )));
        }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        self.deliver(Err(LogUnanswered("the request was dropped".into())));
    }
}

/// The result of a sync.
#[derive(Debug)]
pub(super) struct SyncReply {
    /// `None`: it was given.
    to: Option<Sender<WorkerMessage>>,
}

impl SyncReply {
    pub(super) const fn new(to: Sender<WorkerMessage>) -> Self {
        Self { to: Some(to) }
    }

    pub(super) fn send(mut self, result: Result<u64, StoreError>) {
        self.deliver(result);
    }

    fn deliver(&mut self, result: Result<u64, StoreError>) {
        if let Some(to) = self.to.take() {
            let _ = to.send(WorkerMessage::Event(ShardEvent::Persisted(result)));
        }
    }
}

impl Drop for SyncReply {
    fn drop(&mut self) {
        self.deliver(Err(StoreError::new("sync", "its thread has panicked")));
    }
}

/// The store of a snapshot.
#[derive(Debug)]
pub(super) struct FetchReply {
    attempt: u64,
    /// `None`: it was given.
    to: Option<Sender<WorkerMessage>>,
}

impl FetchReply {
    pub(super) const fn new(attempt: u64, to: Sender<WorkerMessage>) -> Self {
        Self {
            attempt,
            to: Some(to),
        }
    }

    pub(super) fn send(mut self, result: Result<Embedded, String>) {
        self.deliver(result);
    }

    fn deliver(&mut self, result: Result<Embedded, String>) {
        if let Some(to) = self.to.take() {
            let _ = to.send(match result {
                Ok(store) => WorkerMessage::Fetched(self.attempt, Box::new(store)),
                Err(why) => WorkerMessage::Event(ShardEvent::FetchFailed(self.attempt, why)),
            });
        }
    }
}

impl Drop for FetchReply {
    fn drop(&mut self) {
        self.deliver(Err("its task has ended".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_dropped_is_answered_once() {
        let (to, inbox) = channel();
        drop(CallReply::new(CallId(1), to.clone()));
        CallReply::new(CallId(2), to.clone()).send(Ok(LogAnswer::Done));
        drop(SyncReply::new(to.clone()));
        SyncReply::new(to).send(Ok(7));
        let events: Vec<ShardEvent> = inbox
            .into_iter()
            .map(|mail| match mail {
                WorkerMessage::Event(event) => event,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(matches!(
            &events[..],
            [
                ShardEvent::Answered(CallId(1), Err(_)),
                ShardEvent::Answered(CallId(2), Ok(LogAnswer::Done)),
                ShardEvent::Persisted(Err(_)),
                ShardEvent::Persisted(Ok(7)),
            ]
        ));
    }
}
