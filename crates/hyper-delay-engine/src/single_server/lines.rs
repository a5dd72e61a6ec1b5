use crate::{
    front::{Pending, ReplyTo},
    scheduler::{RequestId, RequestNumber},
};
use hyper_delay_protocol::{DeliverySelector, Reply};

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) to: ReplyTo,
    /// What it changes once it is accepted.
    pub(super) pending: Pending,
    pub(super) names: GivenNames,
}

/// The names of a delivery that the request gave. A reply that finds no delivery has no others.
#[derive(Debug)]
pub(super) enum GivenNames {
    /// It names no delivery, or all of its names are in the reply.
    Full,
    /// An ack without a route.
    WithoutRoute,
    /// A touch.
    Touch(Box<DeliverySelector>),
}

impl GivenNames {
    /// Leaves the names out of a reply that the request did not give.
    pub(super) fn restrict(self, reply: &mut Reply) {
        match (self, reply) {
            (
                Self::WithoutRoute,
                Reply::Acked {
                    route,
                    removed: false,
                    ..
                },
            ) => *route = None,
            (
                Self::Touch(given),
                Reply::Touched {
                    route,
                    attempt,
                    deadline: None,
                    ..
                },
            ) => (*route, *attempt) = (given.route, given.attempt),
            _ => {}
        }
    }
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
        self.add_named(to, pending, GivenNames::Full)
    }

    /// Adds a request that names a delivery.
    pub(super) fn add_named(
        &mut self,
        to: ReplyTo,
        pending: Pending,
        names: GivenNames,
    ) -> RequestId {
        let consumer = to.consumer;
        let number = self.places.insert(Line { to, pending, names });
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
