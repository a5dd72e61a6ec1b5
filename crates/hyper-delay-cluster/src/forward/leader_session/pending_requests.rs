//! Requests that the leader of a shard has and has not answered.

use std::{collections::BTreeMap, sync::Arc};

use crate::forward::{deliveries::ServedDelivery, leader_queries::QueryId};
use hyper_delay_engine::{
    front::{GivenNames, Pending, ReplyTo},
    scheduler::{ConsumerId, RequestNumber},
};
use hyper_delay_protocol::RequestNames;

/// A request without an answer.
#[derive(Debug)]
pub(in crate::forward) struct PendingRequest {
    pub(in crate::forward) reply_to: ReplyTo,
    pub(in crate::forward) route: Option<Arc<str>>,
    pub(in crate::forward) id: Option<Arc<str>>,
    /// What it changes of its connection once it is accepted.
    pub(in crate::forward) change: Pending,
    pub(in crate::forward) action: ReplyAction,
}

impl PendingRequest {
    /// Creates a request whose reply the client gets, and which changes nothing of its connection.
    pub(in crate::forward) fn new(reply_to: ReplyTo, names: RequestNames<'_>) -> Self {
        let (route, id) = names;
        Self {
            reply_to,
            route: route.cloned(),
            id: id.cloned(),
            change: Pending::NONE,
            action: ReplyAction::ReplyOnly,
        }
    }

    /// Creates a request that no client has sent.
    pub(in crate::forward) const fn internal(consumer: ConsumerId, action: ReplyAction) -> Self {
        Self {
            reply_to: ReplyTo {
                consumer,
                tag: None,
                weight: 0,
            },
            route: None,
            id: None,
            change: Pending::NONE,
            action,
        }
    }

    /// Returns what the client has named of a delivery that it answers.
    pub(in crate::forward) fn given_names(&self) -> Option<GivenNames> {
        let attempt = match self.action {
            ReplyAction::Ack(_) => None,
            ReplyAction::Touch { given_attempt } => given_attempt,
            _ => return None,
        };
        let route = self.route.clone();
        Some(GivenNames { route, attempt })
    }
}

/// The action that follows from the reply to a request.
#[derive(Debug)]
pub(in crate::forward) enum ReplyAction {
    /// A delivery is acknowledged. Without an answer, the ack can be repeated.
    Ack(ServedDelivery),
    /// The time to answer a delivery is longer.
    Touch {
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
        assert_eq!(pending.answered(2).map(|it| it.reply_to.consumer), Some(6));
        assert!(pending.answered(2).is_none());
        assert_eq!(pending.get(1).map(|it| it.reply_to.consumer), Some(5));
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
