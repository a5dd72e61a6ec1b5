//! Requests that the leader of a shard has and has not answered.

use std::{collections::BTreeMap, sync::Arc};

use crate::forward::{deliveries::ServedDelivery, leader_queries::QueryId};
use hyper_delay_engine::{
    front::Pending,
    scheduler::{ConsumerId, RequestNumber},
};
use hyper_delay_protocol::{DeliverySelector, Reply};

/// A request without an answer.
#[derive(Debug)]
pub(in crate::forward) struct PendingRequest {
    pub(in crate::forward) consumer: ConsumerId,
    pub(in crate::forward) tag: Option<Arc<str>>,
    /// The part of its connection's room that it takes.
    pub(in crate::forward) weight: u32,
    pub(in crate::forward) route: Option<Arc<str>>,
    pub(in crate::forward) id: Option<Arc<str>>,
    /// What it changes of its connection once it is accepted.
    pub(in crate::forward) change: Pending,
    pub(in crate::forward) action: ReplyAction,
}

impl PendingRequest {
    /// A reply about no delivery has the names that the client gave, and no others.
    pub(in crate::forward) fn restore_names(&self, reply: &mut Reply) {
        match (&self.action, reply) {
            (
                ReplyAction::Ack(_),
                Reply::Acked {
                    route,
                    removed: false,
                    ..
                },
            ) => *route = self.route.clone(),
            (
                ReplyAction::Touch { given_attempt, .. },
                Reply::Touched {
                    route,
                    attempt,
                    deadline: None,
                    ..
                },
            ) => (*route, *attempt) = (self.route.clone(), *given_attempt),
            _ => {}
        }
    }
}

/// The action that follows from the reply to a request.
#[derive(Debug)]
pub(in crate::forward) enum ReplyAction {
    /// A delivery is acknowledged. Without an answer, the ack can be repeated.
    Ack(ServedDelivery),
    /// The time to answer a delivery is longer.
    Touch {
        /// Its full name.
        delivery: DeliverySelector,
        /// The round that the client has named.
        given_attempt: Option<u32>,
    },
    /// A part of this query is answered.
    Query(QueryId),
    /// Nothing more than that the client gets it.
    ReplyOnly,
    /// The client has not asked, and gets no reply.
    Silent,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    requests: BTreeMap<RequestNumber, PendingRequest>,
    last_number: RequestNumber,
}

impl PendingRequests {
    /// Adds a request. Returns its number.
    pub(super) fn add(&mut self, request: PendingRequest) -> RequestNumber {
        // From 1 on, again and again.
        self.last_number = self.last_number.checked_add(1).unwrap_or(1);
        self.requests.insert(self.last_number, request);
        self.last_number
    }

    /// Returns a request that waits for its answer.
    pub(super) fn get(&self, number: RequestNumber) -> Option<&PendingRequest> {
        self.requests.get(&number)
    }

    /// The leader has answered a request, which is removed and returned.
    pub(super) fn answered(&mut self, number: RequestNumber) -> Option<PendingRequest> {
        self.requests.remove(&number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The leader is gone: removes and returns its requests, the first one first.
    pub(super) fn take(&mut self) -> impl Iterator<Item = PendingRequest> + use<> {
        let mut first = std::mem::take(&mut self.requests);
        // Those from before the numbers have begun again have the higher ones.
        let before = match self.last_number.checked_add(1) {
            Some(next) => first.split_off(&next),
            None => BTreeMap::new(),
        };
        before.into_values().chain(first.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::samples::request;

    #[test]
    fn a_request_is_answered_once() {
        let mut pending = PendingRequests::default();
        let numbers = [pending.add(request(5)), pending.add(request(6))];
        assert_eq!(numbers, [1, 2]);
        assert_eq!(pending.answered(2).map(|it| it.consumer), Some(6));
        assert!(pending.answered(2).is_none());
        assert_eq!(pending.get(1).map(|it| it.consumer), Some(5));
    }

    #[test]
    fn numbers_continue_in_the_next_session_and_begin_again_after_the_last_one() {
        let mut pending = PendingRequests {
            last_number: RequestNumber::MAX - 1,
            ..PendingRequests::default()
        };
        let numbers = [pending.add(request(5)), pending.add(request(6))];
        assert_eq!(numbers, [RequestNumber::MAX, 1]);
        assert_eq!(pending.take().count(), 2);
        assert!(pending.is_empty());
        assert_eq!(pending.add(request(5)), 2);
    }
}
