use crate::{
    front::{Pending, ReplyTo},
    scheduler::{RequestId, RequestNumber},
};

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) to: ReplyTo,
    /// What it changes once it is accepted.
    pub(super) pending: Pending,
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
    pub(super) fn add(&mut self, to: ReplyTo, pending: Pending) -> RequestId {
        let consumer = to.consumer;
        let number = self.places.insert(Line { to, pending });
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
