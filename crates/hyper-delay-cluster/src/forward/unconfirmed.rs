//! Outcomes of deliveries that a leader may not have received.
//!
//! An ack without a reply, a nack, and the message that a delivery was not sent have no answer. A
//! leader that hands its shard over takes none of them after its last entry, and a link can break
//! with them on their way. An ack whose reply is lost counts as one without from then on. So a
//! session keeps them until the leader has answered a later ping, and the next session begins with
//! those that are left. They name a revision and a round: repeating them changes nothing.

use std::{collections::VecDeque, sync::Arc};

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::{ServedDelivery, void_message},
    leader_session::{ActiveSession, AwaitingCopy, NEVER, QueueableRequest, QueuedRequest},
    wire::ToLeader,
};
use crate::ShardId;
use hyper_delay_engine::{ledger::TaskRevision, scheduler::ConsumerId};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct UnconfirmedOutcomes {
    /// With the time at which they were sent.
    sent: VecDeque<(Tick, ConsumerId, DeliveryOutcome)>,
}

/// The outcome of a delivery.
#[derive(Debug)]
pub(super) enum DeliveryOutcome {
    /// It is acknowledged, without a reply.
    Acked(TaskRevision, ServedDelivery),
    /// It was given back or not sent, as the message says.
    NotAcked(Arc<str>, ServedDelivery, ToLeader),
}

impl UnconfirmedOutcomes {
    /// The leader is sent something now.
    pub(super) fn push(&mut self, now: Tick, consumer: ConsumerId, outcome: DeliveryOutcome) {
        self.sent.push_back((now, consumer, outcome));
    }

    /// The leader has taken everything that was sent before that moment.
    pub(super) fn confirm_before(&mut self, before: Tick) {
        let sent = self.sent.iter();
        let taken = sent.take_while(|(at, ..)| *at < before).count();
        self.sent.drain(..taken);
    }
}

impl Forwarder {
    /// A session has ended: what its leader may not have taken waits for the next one.
    pub(super) fn requeue_unconfirmed(&mut self, shard: ShardId) {
        let unconfirmed = std::mem::take(&mut self.session(shard).unconfirmed);
        for (_, consumer, outcome) in unconfirmed.sent {
            match outcome {
                DeliveryOutcome::Acked(revision, delivered) => {
                    self.session(shard).queue.push_back(QueuedRequest {
                        consumer,
                        request: QueueableRequest::Ack(revision, delivered, None),
                        expires: NEVER,
                    });
                }
                DeliveryOutcome::NotAcked(id, delivered, message) => {
                    self.defer(consumer, (id, delivered, message));
                }
            }
        }
    }

    /// A session has ended. The copies of it that were not passed to their connections never will be,
    /// which the leader learns if there is another session with it.
    pub(super) fn defer_undelivered(
        &mut self,
        active: &ActiveSession,
        awaiting: impl Iterator<Item = AwaitingCopy>,
    ) {
        for AwaitingCopy { consumer, copy, .. } in awaiting {
            let delivered = active.delivered(&copy);
            let id = copy.revision.id;
            let message = void_message(&delivered, consumer, id.clone());
            self.defer(consumer, (id, delivered, message));
        }
        let connections: Vec<ConsumerId> = self.front.connections().collect();
        for consumer in connections {
            let queued = self.front.take_queued(consumer, |it| {
                Arc::ptr_eq(&it.origin.authority, &active.authority)
            });
            for (id, delivered) in queued {
                let message = void_message(&delivered, consumer, id.clone());
                self.defer(consumer, (id, delivered, message));
            }
        }
    }

    /// Keeps the outcome of a delivery for its leader, which cannot be reached now.
    pub(super) fn defer(
        &mut self,
        consumer: ConsumerId,
        outcome: (Arc<str>, ServedDelivery, ToLeader),
    ) {
        let limit = self.front.late_limit(consumer);
        if let Some(served) = self.served.get_mut(&consumer) {
            served.defer(outcome, limit);
        }
    }
}
