use crate::{
    front::{Pending, ReplyTo},
    scheduler::{RequestId, RequestNumber},
};
use hyper_delay_protocol::DeliverySelector;

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) to: ReplyTo,
    pub(super) follow_up: FollowUp,
}

/// What follows from the reply to a request.
#[derive(Debug)]
pub(super) enum FollowUp {
    Nothing,
    /// The request changes something of its connection if it is accepted.
    Change(Pending),
    /// It is an ack without a route. If the ack finds no delivery, the reply has none either.
    AckWithoutRoute,
    /// It is a touch, which gave these names. If it finds no delivery, the reply has no others.
    Touch(Box<DeliverySelector>),
}

/// The requests that the scheduler has not answered, by their numbers. The number of one that is
/// answered is used again.
#[derive(Debug, Default)]
pub(super) struct Lines {
    places: slab::Slab<Line>,
}

impl Lines {
    /// Adds a request.
    #[inline]
    pub(super) fn add(&mut self, to: ReplyTo, follow_up: FollowUp) -> RequestId {
        let consumer = to.consumer;
        let number = self.places.insert(Line { to, follow_up });
        // The weights of the requests of all connections bound their number.
        let number =
            RequestNumber::try_from(number).expect("fewer than 2^32 requests are in memory");
        RequestId { consumer, number }
    }

    /// A request is answered.
    #[inline]
    pub(super) fn take(&mut self, number: RequestNumber) -> Option<Line> {
        self.places.try_remove(number as usize)
    }
}
