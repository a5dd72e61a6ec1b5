//! Answers requests from the disk, so that the scheduler need not stop for them.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::ConnectionContext;
use crate::{driver::ServerEvent, log_limit::Warning, outbox::ConnectionOutbox};
use hyper_delay_engine::{
    front::{ConsumerMessage, FrontInput, ReplyTo},
    ledger::LedgerView,
};
use hyper_delay_protocol::{Code, Refusal, Reply};
use hyper_delay_store::{ReadStore, StoreError};

/// The bytes of a line around the rows, with the longest cursor.
pub(super) const LINE_OVERHEAD: usize = 1_024;

/// Answers one request: the context of its connection, and the outbox for the reply.
pub(super) struct Responder<'a, S> {
    pub(super) shared: &'a ConnectionContext<S>,
    pub(super) outbox: &'a ConnectionOutbox,
    pub(super) reply_to: ReplyTo,
}

impl<S: ReadStore> Responder<'_, S> {
    pub(super) fn view(&self) -> LedgerView<S> {
        LedgerView::new(self.shared.store.clone())
    }
}

impl<S> Responder<'_, S> {
    /// Returns the bytes of a reply that its rows may take.
    pub(super) fn row_bytes(&self) -> usize {
        self.shared
            .config
            .max_line_bytes
            .saturating_sub(LINE_OVERHEAD)
    }

    /// Sends the reply that was read, or the error of the read.
    pub(super) fn respond(self, read: Result<Reply, StoreError>) {
        match read {
            Ok(reply) => self.reply(reply),
            Err(error) => self.read_failed(None, error),
        }
    }

    /// Sends a reply.
    pub(super) fn reply(self, reply: Reply) {
        let ReplyTo { tag, weight, .. } = self.reply_to;
        if self
            .outbox
            .push(ConsumerMessage::Reply { reply, tag, weight })
        {
            self.outbox.wake();
        }
    }

    /// The store cannot be read. Damage concerns only what was asked for; if the disk of a single
    /// node fails, the server ends.
    pub(super) fn read_failed(self, route: Option<Arc<str>>, error: StoreError) {
        if !error.is_damage() {
            // A node of a cluster continues without its replica.
            if self.shared.freshness.replicas().is_some() {
                let message = format!("{error}: ask another node");
                let refusal = Refusal {
                    route,
                    ..Refusal::new(Code::Unavailable, message)
                };
                let _ = self.shared.events.send(ServerEvent::Failed(error));
                return self.reply(Reply::Error(refusal));
            }
            let _ = self.shared.events.send(ServerEvent::Failed(error));
            return self.outbox.release(self.reply_to.weight);
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
        let (sender, answer) = oneshot::channel();
        let event = ServerEvent::HasConsumers(route.clone(), sender);
        let is_sent = self.shared.events.send(event).is_ok();
        let answer = if is_sent { answer.await.ok() } else { None };
        answer.unwrap_or_else(|| Err(Refusal::new(Code::Unavailable, "the server is ending")))
    }

    /// Passes an input to the scheduler, which completes the reply and sends it.
    pub(super) fn pass_to_scheduler(self, input: impl FnOnce(ReplyTo) -> FrontInput) {
        let input = input(self.reply_to);
        let _ = self.shared.events.send(ServerEvent::Input(input));
    }
}

/// Reads from the store on a thread that may block. A read that panics has met damage that no
/// checksum shows.
pub(super) async fn read_blocking<T: Send + 'static>(
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
