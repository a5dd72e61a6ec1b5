//! Requests that are answered from the disk, so that the scheduler need not stop for them.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Shared;
use crate::{driver::Event, log_limit::Warning, outbox::Outbox};
use hyper_delay_engine::{
    ledger::View,
    scheduler::{Input, Message, ReplyTo},
};
use hyper_delay_protocol::{Code, Refusal, Reply};
use hyper_delay_store::{ReadStore, StoreError};

/// The bytes of a line around the rows, with the longest cursor.
pub(super) const AROUND: usize = 1_024;

/// The sender of a request, and where its reply goes.
pub(super) struct Asker<'a, S> {
    pub(super) shared: &'a Shared<S>,
    pub(super) outbox: &'a Outbox,
    pub(super) reply_to: ReplyTo,
}

impl<S: ReadStore> Asker<'_, S> {
    pub(super) fn view(&self) -> View<S> {
        View::new(self.shared.store.clone())
    }
}

impl<S> Asker<'_, S> {
    /// Returns the bytes of a reply that its rows may take.
    pub(super) fn room(&self) -> usize {
        self.shared.config.max_line_bytes.saturating_sub(AROUND)
    }

    /// Sends what was read, or what a failed read means.
    pub(super) fn answer(self, read: Result<Reply, StoreError>) {
        match read {
            Ok(reply) => self.reply(reply),
            Err(error) => self.unreadable(None, error),
        }
    }

    /// Sends a reply.
    pub(super) fn reply(self, reply: Reply) {
        let ReplyTo { tag, weight, .. } = self.reply_to;
        if self.outbox.push(Message::Reply { reply, tag, weight }) {
            self.outbox.wake();
        }
    }

    /// The store cannot be read. Damage concerns only what was asked for; if the disk of a single
    /// node fails, the server ends.
    pub(super) fn unreadable(self, route: Option<Arc<str>>, error: StoreError) {
        if !error.is_damage() {
            // A node of a cluster goes on without its replica.
            if self.shared.freshness.is_of_replicas() {
                let message = format!("{error}: ask another node");
                let refusal = Refusal {
                    route,
                    ..Refusal::new(Code::Unavailable, message)
                };
                let _ = self.shared.events.send(Event::Failed(error));
                return self.reply(Reply::Error(refusal));
            }
            let _ = self.shared.events.send(Event::Failed(error));
            return self.outbox.give(self.reply_to.weight);
        }
        self.shared.logs.warn(Warning::Damage, &error);
        let refusal = Refusal {
            route,
            ..Refusal::new(Code::Damaged, error.to_string())
        };
        self.reply(Reply::Error(refusal));
    }

    /// Returns whether a route has consumers.
    ///
    /// # Errors
    ///
    /// If that is not known in time.
    pub(super) async fn has_consumers(&self, route: &Arc<str>) -> Result<bool, Refusal> {
        let (tell, told) = oneshot::channel();
        let ask = Event::HasConsumers(route.clone(), tell);
        let is_asked = self.shared.events.send(ask).is_ok();
        let answer = if is_asked { told.await.ok() } else { None };
        answer.unwrap_or_else(|| Err(Refusal::new(Code::Unavailable, "the server is ending")))
    }

    /// Passes what was read to the scheduler, which adds what it knows and replies.
    pub(super) fn pass(self, input: impl FnOnce(ReplyTo) -> Input) {
        let input = input(self.reply_to);
        let _ = self.shared.events.send(Event::Input(input));
    }
}

/// Reads from the store on a thread that may block. A read that panics has met damage that no
/// checksum shows.
pub(super) async fn read<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read,
        Err(error) if error.is_panic() => Err(StoreError::damage("read", "the read has panicked")),
        Err(error) => Err(StoreError::new("read", error)),
    }
}

#[cfg(test)]
mod tests;
