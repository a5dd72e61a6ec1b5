//! Requests that the leader of a shard has and has not answered.

use std::{collections::BTreeMap, sync::Arc};

use crate::forward::{deliveries::ServedDelivery, leader_queries::QueryId, wire::NO_ANSWER};
use hyper_delay_engine::{
    front::Pending,
    scheduler::{ConsumerId, RequestNumber},
};
use hyper_delay_protocol::DeliverySelector;

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

/// The action that follows from the reply to a request.
#[derive(Debug)]
pub(in crate::forward) enum ReplyAction {
    /// A delivery is acknowledged. Without an answer, the ack can be repeated.
    Ack(ServedDelivery),
    /// The time to answer this delivery is longer.
    Touch(DeliverySelector),
    /// A part of this query is answered.
    Query(QueryId),
    Other,
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
        // From 1 on, and never that of requests without an answer.
        self.last_number = self.last_number % (NO_ANSWER - 1) + 1;
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
        std::mem::take(&mut self.requests).into_values()
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
    fn numbers_continue_in_the_next_session_and_leave_out_that_of_requests_without_an_answer() {
        let mut pending = PendingRequests {
            last_number: NO_ANSWER - 2,
            ..PendingRequests::default()
        };
        let numbers = [pending.add(request(5)), pending.add(request(6))];
        assert_eq!(numbers, [NO_ANSWER - 1, 1]);
        assert_eq!(pending.take().count(), 2);
        assert!(pending.is_empty());
        assert_eq!(pending.add(request(5)), 2);
    }
}
