//! Requests that wait for a leader.

use std::{collections::VecDeque, time::Duration};

use race_wheel::Tick;

use super::{PendingRequest, ReplyAction};
use crate::forward::{deliveries::ServedDelivery, wire::ForwardedRequest};
use hyper_delay_engine::{clock::nanos, ledger::TaskRevision, scheduler::ConsumerId};

/// A request that can wait for a leader.
#[derive(Debug)]
pub(in crate::forward) enum QueueableRequest {
    /// A request.
    Request(Box<ForwardedRequest>, PendingRequest),
    /// An ack, of this delivery. It waits for as long as it takes; only the reply expires, and then
    /// it waits without one.
    Ack(TaskRevision, ServedDelivery, Option<PendingRequest>),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct RequestQueue {
    /// A reply is not waited for longer than this, in nanoseconds.
    patience: u64,
    requests: VecDeque<QueuedRequest>,
}

#[derive(Debug)]
struct QueuedRequest {
    consumer: ConsumerId,
    request: QueueableRequest,
    /// It is answered with `unavailable` then. `None`: it has no reply.
    expires: Option<Tick>,
}

impl RequestQueue {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience: nanos(patience),
            requests: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, consumer: ConsumerId, request: QueueableRequest, now: Tick) {
        let has_reply = !matches!(request, QueueableRequest::Ack(_, _, None));
        self.requests.push_back(QueuedRequest {
            consumer,
            request,
            expires: has_reply.then(|| now + self.patience),
        });
    }

    /// Returns whether no client waits for a reply.
    pub(super) fn awaits_no_reply(&self) -> bool {
        self.next_expiry().is_none()
    }

    /// Returns when the next request expires.
    pub(super) fn next_expiry(&self) -> Option<Tick> {
        // All wait equally long, so the first one that expires is the next.
        self.requests.iter().find_map(|queued| queued.expires)
    }

    /// Removes what has waited too long for a leader. Returns the requests without a reply.
    pub(super) fn expire(&mut self, now: Tick) -> Vec<PendingRequest> {
        let is_over = |expires: Option<Tick>| expires.is_some_and(|at| at <= now);
        let mut expired = Vec::new();
        if !is_over(self.next_expiry()) {
            return expired;
        }
        for queued in std::mem::take(&mut self.requests) {
            if !is_over(queued.expires) {
                self.requests.push_back(queued);
                continue;
            }
            match queued.request {
                QueueableRequest::Request(_, pending) => expired.push(pending),
                // Without a reply it never expires.
                QueueableRequest::Ack(_, delivered, pending) => {
                    expired.extend(pending.map(|pending| PendingRequest {
                        action: ReplyAction::Ack(delivered),
                        ..pending
                    }));
                }
            }
        }
        expired
    }

    /// There is a leader: removes and returns what has waited for it, in order.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (ConsumerId, QueueableRequest)> + use<> {
        let requests = std::mem::take(&mut self.requests).into_iter();
        requests.map(|queued| (queued.consumer, queued.request))
    }
}

#[cfg(test)]
mod tests;
