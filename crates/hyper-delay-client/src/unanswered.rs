use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::{Command, Handle, Sending};
use crate::payloads::Payloads;
use crate::receipt::Acked;
use crate::wire::Request;
use crate::{Delivery, Nack, RequestError, time};

/// A [`Delivery`] without an answer: call [`ack`](Self::ack) or [`nack`](Self::nack).
///
/// Dropping it gives the delivery back, like `nack(Nack::backoff())`. See also
/// [`unharmed_if_dropped`](Self::unharmed_if_dropped).
///
/// The answer is valid on the connection of the delivery. If that connection is lost before, the
/// server has taken the delivery back: the answer has no effect, and the task arrives again,
/// possibly while the first delivery is still in progress.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub struct Unanswered {
    delivery: Delivery,
    answer: Answer,
}

impl Unanswered {
    pub(crate) fn new(delivery: Delivery, connection: u64, handle: Arc<Handle>) -> Self {
        let delivery = delivery.on(connection, &handle);
        let answer = Answer {
            delivery: delivery.clone(),
            connection,
            handle,
            given: false,
            is_unharmed: false,
        };
        Self { delivery, answer }
    }

    /// Dropped from now on, it is given back as one that [has not failed](Nack::unharmed): for a
    /// consumer that ends while it holds deliveries.
    pub fn unharmed_if_dropped(self) -> Self {
        let Self { delivery, answer } = self;
        let answer = answer.unharmed_if_dropped();
        Self { delivery, answer }
    }

    /// Gives back a delivery that no handler has seen. The task is due again after `delay`; without
    /// it, at once for other clients and after the first backoff for this one.
    pub(crate) fn give_back_unseen(self, delay: Option<Duration>) {
        self.answer.nack(&Nack {
            delay,
            ..Nack::backoff().unharmed()
        });
    }

    /// Acknowledges the delivery: the work is done. Does not wait; there is no reply.
    pub fn ack(self) {
        self.answer.ack();
    }

    /// Acknowledges the delivery and waits for the reply. `true`: the removal is on disk, and the
    /// task is never delivered again. `false`: too late; the task was cancelled, replaced or
    /// acknowledged before.
    ///
    /// # Errors
    ///
    /// [`Disconnected`](RequestError::Disconnected) if the connection of the delivery is lost
    /// before the reply: the task may be removed, or may arrive again.
    ///
    /// # Cancel safety
    ///
    /// The first poll sends the ack. Dropped before that, it is a nack; after that, only the reply
    /// is discarded.
    pub async fn ack_confirmed(self) -> Result<bool, RequestError> {
        self.answer.ack_confirmed().await
    }

    /// Gives the delivery back. Does not wait; there is no reply.
    pub fn nack(self, nack: Nack) {
        self.answer.nack(&nack);
    }

    /// Decompresses the payload, or gives the delivery back.
    pub(crate) fn inflated(self, payloads: Payloads) -> Option<Self> {
        let Self { delivery, answer } = self;
        match payloads.inflated(&delivery) {
            Ok(None) => Some(Self { delivery, answer }),
            Ok(Some(delivery)) => Some(Self { delivery, answer }),
            Err(reason) => {
                let (route, id) = (delivery.route(), delivery.id());
                tracing::warn!(route, id, %reason, "the delivery is given back");
                answer.nack(&Nack::backoff().because(reason));
                None
            }
        }
    }

    /// Returns the delivery and its answer.
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

/// The answer to a delivery. Dropping it without one sends a nack.
#[derive(Debug)]
pub(crate) struct Answer {
    delivery: Delivery,
    /// The number of the delivery's connection.
    connection: u64,
    handle: Arc<Handle>,
    given: bool,
    /// Dropped, it is given back as one that has not failed.
    is_unharmed: bool,
}

impl Answer {
    pub(crate) fn ack(mut self) {
        let line = Request::about("ack", &self.delivery).line();
        self.send(line);
    }

    pub(crate) async fn ack_confirmed(mut self) -> Result<bool, RequestError> {
        let request = Request {
            confirm: Some(true),
            ..Request::about("ack", &self.delivery)
        };
        // From here on the answer is given: the request below sends it at its first poll.
        self.given = true;
        let acked: Acked = self
            .handle
            .request(request, Sending::On(self.connection))
            .await?;
        Ok(acked.removed)
    }

    /// Dropped, it is given back, and has not failed.
    pub(crate) const fn unharmed_if_dropped(mut self) -> Self {
        self.is_unharmed = true;
        self
    }

    pub(crate) fn nack(mut self, nack: &Nack) {
        self.give_back(nack);
    }

    fn give_back(&mut self, nack: &Nack) {
        let line = Request {
            delay_ms: nack.delay.map(time::whole_millis),
            reason: nack.short_reason(),
            failed: nack.is_unharmed.then_some(false),
            ..Request::about("nack", &self.delivery)
        }
        .line();
        self.send(line);
    }

    fn send(&mut self, line: Vec<u8>) {
        self.given = true;
        // If the client is closed, the server has taken all deliveries back.
        self.handle.command(Command::Answer {
            connection: self.connection,
            line,
        });
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.given {
            self.give_back(&Nack {
                is_unharmed: self.is_unharmed,
                ..Nack::backoff()
            });
        }
    }
}
