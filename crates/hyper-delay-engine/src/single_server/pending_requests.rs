use crate::{
    front::{GivenNames, Pending, ReplyTo},
    scheduler::{RequestId, RequestNumber},
};

/// A request without an answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) to: ReplyTo,
    pub(super) action: ReplyAction,
}

/// What follows from the reply to a request.
#[derive(Debug)]
pub(super) enum ReplyAction {
    /// Nothing more.
    ReplyOnly,
    /// The request changes something of its connection if it is accepted.
    Change(Pending),
    /// It is an answer to a delivery, which the client gave these names.
    Answer(GivenNames),
}

/// The requests that the scheduler has not answered, by their numbers. The number of one that is
/// answered is used again.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    places: slab::Slab<PendingRequest>,
}

impl PendingRequests {
    /// Adds a request.
    #[inline]
    pub(super) fn add(&mut self, to: ReplyTo, action: ReplyAction) -> RequestId {
        let consumer = to.consumer;
        let number = self.places.insert(PendingRequest { to, action });
        // The weights of the requests of all connections bound their number.
        let number =
            RequestNumber::try_from(number).expect("fewer than 2^32 requests are in memory");
        RequestId { consumer, number }
    }

    /// A request is answered.
    #[inline]
    pub(super) fn take(&mut self, number: RequestNumber) -> Option<PendingRequest> {
        self.places.try_remove(number as usize)
    }
}
