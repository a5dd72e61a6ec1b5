use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::{Command, Handle, Sending};
use crate::receipt::Acked;
use crate::wire::Request;
use crate::{Delivery, Nack, RequestError, time};

/// A [`Delivery`] that waits for its answer: [`ack`](Self::ack) or [`nack`](Self::nack).
///
/// Dropped without one it is given back, as by `nack(Nack::backoff())`.
///
/// The answer is of use on the connection by which the delivery came. Should that be lost before,
/// the server has taken the delivery back, the answer goes nowhere, and the task comes again, maybe
/// while the first delivery is still worked on.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub struct Unanswered {
    delivery: Delivery,
    answer: Answer,
}

impl Unanswered {
    pub(crate) fn new(delivery: Delivery, connection: u64, handle: Arc<Handle>) -> Self {
        let answer = Answer {
            delivery: delivery.clone(),
            connection,
            handle,
            given: false,
        };
        Self { delivery, answer }
    }

    /// The work is done: the task is to be removed. This only hands it to the connection's task; it
    /// does not wait, and there is no reply.
    pub fn ack(self) {
        self.answer.ack();
    }

    /// The work is done, and is to be known to be: once this resolves with `true`, the task's removal
    /// is on disk and it is never delivered again. With `false` this was too late: the
    /// task has been cancelled, replaced or acknowledged by another.
    ///
    /// # Errors
    ///
    /// [`Disconnected`](RequestError::Disconnected) if the connection by which the delivery came is
    /// lost before the reply: then the task may be removed, or come again.
    ///
    /// # Cancel safety
    ///
    /// The ack is sent when this is first polled. Dropped before that it is a nack; after that
    /// only the reply is forgotten.
    pub async fn ack_confirmed(self) -> Result<bool, RequestError> {
        self.answer.ack_confirmed().await
    }

    /// Gives it back. This only hands it to the connection's task, and does not wait.
    pub fn nack(self, nack: Nack) {
        self.answer.nack(&nack);
    }

    /// What to work on, and what to answer by.
    pub(crate) fn split(self) -> (Delivery, Answer) {
        (self.delivery, self.answer)
    }
}

impl Deref for Unanswered {
    type Target = Delivery;

    fn deref(&self) -> &Delivery {
        &self.delivery
    }
}

/// The one answer to a delivery. A nack, if it is dropped.
#[derive(Debug)]
pub(crate) struct Answer {
    delivery: Delivery,
    /// The number of the connection by which it came.
    connection: u64,
    handle: Arc<Handle>,
    given: bool,
}

impl Answer {
    pub(crate) fn ack(mut self) {
        let line = request("ack", &self.delivery).line();
        self.send(line);
    }

    pub(crate) async fn ack_confirmed(mut self) -> Result<bool, RequestError> {
        let request = Request {
            confirm: Some(true),
            ..request("ack", &self.delivery)
        };
        // From here on it is given: what follows has sent it when it is first polled.
        self.given = true;
        let acked: Acked = self
            .handle
            .request(request, Sending::On(self.connection))
            .await?;
        Ok(acked.removed)
    }

    pub(crate) fn nack(mut self, nack: &Nack) {
        self.give_back(nack.delay);
    }

    fn give_back(&mut self, delay: Option<Duration>) {
        let delay_ms = delay.map(time::whole_millis);
        let line = Request {
            delay_ms,
            ..request("nack", &self.delivery)
        }
        .line();
        self.send(line);
    }

    fn send(&mut self, line: Vec<u8>) {
        self.given = true;
        // Of a client that is closed, the server has taken all deliveries back.
        self.handle.command(Command::Answer {
            connection: self.connection,
            line,
        });
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.given {
            self.give_back(None);
        }
    }
}

fn request<'a>(kind: &'static str, delivery: &'a Delivery) -> Request<'a> {
    Request {
        id: Some(delivery.id()),
        route_key: Some(delivery.route()),
        attempt: Some(delivery.attempt()),
        ..Request::of(kind)
    }
}
