//! The answers that tasks and blocking threads owe a shard. Each is given, also after a panic.

use std::sync::mpsc::Sender;

use super::worker::Mail;
use crate::{
    calls::CallId,
    log::{Answer, Unanswered},
    shard::Event,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_store::StoreError;

/// The answer to a request to the log.
#[derive(Debug)]
pub(super) struct ToCall {
    call: CallId,
    /// `None`: it was given.
    to: Option<Sender<Mail>>,
}

impl ToCall {
    pub(super) const fn new(call: CallId, to: Sender<Mail>) -> Self {
        Self { call, to: Some(to) }
    }

    pub(super) fn send(mut self, answer: Result<Answer, Unanswered>) {
        self.give(answer);
    }

    fn give(&mut self, answer: Result<Answer, Unanswered>) {
        if let Some(to) = self.to.take() {
            // The thread of the shard may have ended.
            let _ = to.send(Mail::Event(Event::Answered(self.call, answer)));
        }
    }
}

impl Drop for ToCall {
    fn drop(&mut self) {
        self.give(Err(Unanswered("the request was dropped".into())));
    }
}

/// The result of a sync.
#[derive(Debug)]
pub(super) struct ToPersist {
    /// `None`: it was given.
    to: Option<Sender<Mail>>,
}

impl ToPersist {
    pub(super) const fn new(to: Sender<Mail>) -> Self {
        Self { to: Some(to) }
    }

    pub(super) fn send(mut self, result: Result<u64, StoreError>) {
        self.give(result);
    }

    fn give(&mut self, result: Result<u64, StoreError>) {
        if let Some(to) = self.to.take() {
            let _ = to.send(Mail::Event(Event::Persisted(result)));
        }
    }
}

impl Drop for ToPersist {
    fn drop(&mut self) {
        self.give(Err(StoreError::new("sync", "its thread has panicked")));
    }
}

/// The store of a snapshot.
#[derive(Debug)]
pub(super) struct ToFetch {
    attempt: u64,
    /// `None`: it was given.
    to: Option<Sender<Mail>>,
}

impl ToFetch {
    pub(super) const fn new(attempt: u64, to: Sender<Mail>) -> Self {
        Self {
            attempt,
            to: Some(to),
        }
    }

    pub(super) fn send(mut self, result: Result<Embedded, String>) {
        self.give(result);
    }

    fn give(&mut self, result: Result<Embedded, String>) {
        if let Some(to) = self.to.take() {
            let _ = to.send(match result {
                Ok(store) => Mail::Fetched(self.attempt, Box::new(store)),
                Err(why) => Mail::Event(Event::NotFetched(self.attempt, why)),
            });
        }
    }
}

impl Drop for ToFetch {
    fn drop(&mut self) {
        self.give(Err("its task has ended".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_dropped_is_answered_once() {
        let (to, inbox) = channel();
        drop(ToCall::new(CallId(1), to.clone()));
        ToCall::new(CallId(2), to.clone()).send(Ok(Answer::Done));
        drop(ToPersist::new(to.clone()));
        ToPersist::new(to).send(Ok(7));
        let events: Vec<Event> = inbox
            .into_iter()
            .map(|mail| match mail {
                Mail::Event(event) => event,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(matches!(
            &events[..],
            [
                Event::Answered(CallId(1), Err(_)),
                Event::Answered(CallId(2), Ok(Answer::Done)),
                Event::Persisted(Err(_)),
                Event::Persisted(Ok(7)),
            ]
        ));
    }
}
